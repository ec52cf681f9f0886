// Implements MultiheadAttention: registers its parameters and calls multi_head_attention_forward.
#include "tandem/nn/attention.h"

#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
template class Cloneable<MultiheadAttentionImpl>;

void MultiheadAttentionImpl::reset() {
  const auto& o = options;
  const int64_t features = o.embed_dim();
  TANDEM_CHECK(features > 0 && o.num_heads() > 0,
               "MultiheadAttention: embed_dim and num_heads must be greater than 0, got embed_dim=", features,
               " and num_heads=", o.num_heads());
  TANDEM_CHECK(features % o.num_heads() == 0,
               "MultiheadAttention: embed_dim must be divisible by num_heads, got embed_dim=", features,
               " and num_heads=", o.num_heads());
  head_dim = features / o.num_heads();
  if (o.kdim() == features && o.vdim() == features) {
    in_proj_weight = register_parameter("in_proj_weight", empty({3 * features, features}));
  } else {
    q_proj_weight = register_parameter("q_proj_weight", empty({features, features}));
    k_proj_weight = register_parameter("k_proj_weight", empty({features, o.kdim()}));
    v_proj_weight = register_parameter("v_proj_weight", empty({features, o.vdim()}));
  }
  if (o.bias()) in_proj_bias = register_parameter("in_proj_bias", empty({3 * features}));
  if (o.add_bias_kv()) {
    bias_k = register_parameter("bias_k", empty({1, 1, features}));
    bias_v = register_parameter("bias_v", empty({1, 1, features}));
  }
  out_proj = register_module("out_proj", Linear(LinearOptions(features, features).bias(o.bias())));
  _reset_parameters();
}
void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& weight : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight})
    if (weight.defined()) init::xavier_uniform_(weight);
  if (in_proj_bias.defined()) init::zeros_(in_proj_bias), init::zeros_(out_proj->bias);
  if (bias_k.defined()) init::xavier_normal_(bias_k), init::xavier_normal_(bias_v);
}
std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const Tensor& key_padding_mask, bool need_weights,
                                                           const Tensor& attn_mask, bool average_attn_weights) {
  functional::MultiheadAttentionForwardFuncOptions o(options.embed_dim(), options.num_heads(), in_proj_weight,
                                                     in_proj_bias, bias_k, bias_v, options.add_zero_attn(),
                                                     options.dropout(), out_proj->weight, out_proj->bias);
  o.training(is_training()).key_padding_mask(key_padding_mask).need_weights(need_weights).attn_mask(attn_mask);
  o.average_attn_weights(average_attn_weights);
  if (!in_proj_weight.defined())
    o.use_separate_proj_weight(true)
        .q_proj_weight(q_proj_weight)
        .k_proj_weight(k_proj_weight)
        .v_proj_weight(v_proj_weight);
  if (!options.batch_first() || query.dim() != 3 || key.dim() != 3 || value.dim() != 3)
    return functional::multi_head_attention_forward(query, key, value, o);
  const Tensor q = query.transpose(0, 1), k = key.is_same(query) ? q : key.transpose(0, 1),
               v = value.is_same(key)     ? k
                   : value.is_same(query) ? q
                                          : value.transpose(0, 1);
  const auto [output, weights] = functional::multi_head_attention_forward(q, k, v, o);
  return {output.transpose(0, 1), weights};
}

}  // namespace tandem::nn
