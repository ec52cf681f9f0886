// MultiheadAttention: projections, masks and heads around scaled_dot_product_attention.
#include "tandem/nn/attention.h"

#include <cmath>
#include <limits>

#include "tandem/core/internal.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace functional {
namespace {
constexpr const char* kOp = "multi_head_attention_forward";

/// Checks (L, N, E), (S, N, ...), (S, N, ...).
void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                  const MultiheadAttentionForwardFuncOptions& o) {
  TANDEM_CHECK(query.size(2) == o.embed_dim_to_check(), kOp, ": query is ", query.sizes(),
               "; its last dimension must be embed_dim, ", o.embed_dim_to_check());
  TANDEM_CHECK(o.num_heads() > 0 && query.size(2) % o.num_heads() == 0, kOp, ": embed_dim is ", query.size(2),
               "; it must be a multiple of num_heads, ", o.num_heads());
  TANDEM_CHECK(key.size(0) == value.size(0) && key.size(1) == value.size(1) && key.size(1) == query.size(1), kOp,
               ": query is ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(),
               "; accepted: (L, N, E), (S, N, kdim) and (S, N, vdim)");
  TANDEM_CHECK(o.use_separate_proj_weight()
                   ? o.q_proj_weight().defined() && o.k_proj_weight().defined() && o.v_proj_weight().defined()
                   : o.in_proj_weight().defined(),
               kOp, ": there is no ",
               o.use_separate_proj_weight() ? "q_proj_weight, k_proj_weight or v_proj_weight" : "in_proj_weight");
  TANDEM_CHECK(o.bias_k().defined() == o.bias_v().defined(), kOp, ": bias_", o.bias_k().defined() ? 'k' : 'v',
               " is given alone; accepted: both bias_k and bias_v, or none");
  TANDEM_CHECK(!o.bias_k().defined() || (!o.static_k().defined() && !o.static_v().defined()), kOp,
               ": bias_k is given with static_k or static_v; accepted: one of them");
}
/// The projected query, key and value, each (rows, N, E).
std::array<Tensor, 3> projected(const Tensor& query, const Tensor& key, const Tensor& value,
                                const MultiheadAttentionForwardFuncOptions& o) {
  const int64_t features = query.size(2);
  const std::vector<Tensor> bias = o.in_proj_bias().defined() ? o.in_proj_bias().chunk(3) : std::vector<Tensor>(3);
  if (o.use_separate_proj_weight())
    return {linear(query, o.q_proj_weight(), bias[0]), linear(key, o.k_proj_weight(), bias[1]),
            linear(value, o.v_proj_weight(), bias[2])};
  // One product for what has one input. Its parts then come to lie one behind the other.
  const auto parts = [&](const Tensor& x, const Tensor& weight, const Tensor& added, int64_t count) {
    const Tensor y = linear(x, weight, added);
    return y.unflatten(-1, {count, features}).permute({2, 0, 1, 3}).contiguous().unbind(0);
  };
  if (query.is_same(key) && key.is_same(value)) {
    const std::vector<Tensor> all = parts(query, o.in_proj_weight(), o.in_proj_bias(), 3);
    return {all[0], all[1], all[2]};
  }
  const std::vector<Tensor> weight = o.in_proj_weight().chunk(3);
  if (!key.is_same(value))
    return {linear(query, weight[0], bias[0]), linear(key, weight[1], bias[1]), linear(value, weight[2], bias[2])};
  const Tensor shared_bias = o.in_proj_bias().defined() ? o.in_proj_bias().narrow(0, features, 2 * features) : Tensor();
  const std::vector<Tensor> both = parts(key, o.in_proj_weight().narrow(0, features, 2 * features), shared_bias, 2);
  return {linear(query, weight[0], bias[0]), both[0], both[1]};
}
/// A mask as numbers to add: -inf where a bool one is true.
Tensor as_numbers(const char* name, const Tensor& mask, const Tensor& like) {
  if (!mask.defined()) return mask;
  TANDEM_CHECK(mask.dtype() == kBool || mask.is_floating_point(), kOp, ": ", name, " is ", mask.dtype(),
               "; accepted: bool and floating point");
  if (mask.dtype() != kBool) return mask.to(like.dtype());
  return zeros(mask.sizes(), like.options()).masked_fill(mask, -std::numeric_limits<double>::infinity());
}
/// `more` behind x along dim.
Tensor extended(const Tensor& x, const Tensor& more, int64_t dim) { return x.defined() ? cat({x, more}, dim) : x; }
/// A mask with a last column of 0: a key that every query may look at.
Tensor with_column(const Tensor& mask) {
  return mask.defined() ? cat({mask, zeros_like(mask.narrow(-1, 0, 1))}, -1) : mask;
}
}  // namespace

MultiheadAttentionForwardFuncOptions::MultiheadAttentionForwardFuncOptions(
    int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k,
    Tensor bias_v, bool add_zero_attn, double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias)
    : embed_dim_to_check_(embed_dim_to_check),
      num_heads_(num_heads),
      in_proj_weight_(std::move(in_proj_weight)),
      in_proj_bias_(std::move(in_proj_bias)),
      bias_k_(std::move(bias_k)),
      bias_v_(std::move(bias_v)),
      add_zero_attn_(add_zero_attn),
      dropout_p_(dropout_p),
      out_proj_weight_(std::move(out_proj_weight)),
      out_proj_bias_(std::move(out_proj_bias)) {}

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& o) {
  const bool batched = query.dim() == 3;
  TANDEM_CHECK((batched || query.dim() == 2) && key.dim() == query.dim() && value.dim() == query.dim(), kOp,
               ": query is ", query.sizes(), ", key ", key.sizes(), " and value ", value.sizes(),
               "; accepted: all of three dimensions, or all of two");
  if (!batched) {
    auto whole = o;
    if (o.key_padding_mask().defined()) whole.key_padding_mask(o.key_padding_mask().unsqueeze(0));
    const Tensor q = query.unsqueeze(1), k = key.is_same(query) ? q : key.unsqueeze(1),
                 v = value.is_same(key) ? k : value.unsqueeze(1);
    const auto [output, weights] = multi_head_attention_forward(q, k, v, whole);
    return {output.squeeze(1), weights.defined() ? weights.squeeze(0) : weights};
  }
  check_inputs(query, key, value, o);
  const int64_t length = query.size(0), batch = query.size(1), features = query.size(2), heads = o.num_heads(),
                rows = batch * heads, head = features / heads, keys = key.size(0);
  Tensor mask = as_numbers("attn_mask", o.attn_mask(), query),
         padding = as_numbers("key_padding_mask", o.key_padding_mask(), query);
  const Shape shared{length, keys}, own{rows, length, keys}, padded{batch, keys};
  TANDEM_CHECK(!mask.defined() || mask.sizes() == shared || mask.sizes() == own, kOp, ": attn_mask is ",
               o.attn_mask().sizes(), "; accepted: ", IntArrayRef(shared), " and ", IntArrayRef(own));
  TANDEM_CHECK(!padding.defined() || padding.sizes() == padded, kOp, ": key_padding_mask is ",
               o.key_padding_mask().sizes(), "; accepted: ", IntArrayRef(padded));

  auto [q, k, v] = projected(query, key, value, o);
  if (o.bias_k().defined()) {
    k = extended(k, o.bias_k().expand({1, batch, features}), 0);
    v = extended(v, o.bias_v().expand({1, batch, features}), 0);
    mask = with_column(mask), padding = with_column(padding);
  }
  const auto by_head = [&](const Tensor& x) { return x.view({x.size(0), rows, head}).transpose(0, 1); };
  const auto given_or = [&](const char* name, const Tensor& fixed, const Tensor& x) {
    TANDEM_CHECK(!fixed.defined() || (fixed.dim() == 3 && fixed.size(0) == rows && fixed.size(2) == head), kOp, ": ",
                 name, " is ", fixed.sizes(), "; accepted: (", rows, ", S, ", head, ")");
    return fixed.defined() ? fixed : by_head(x);
  };
  q = by_head(q), k = given_or("static_k", o.static_k(), k), v = given_or("static_v", o.static_v(), v);
  if (o.add_zero_attn()) {
    const Tensor none = zeros({rows, 1, head}, k.options());
    k = extended(k, none, 1), v = extended(v, none, 1);
    mask = with_column(mask), padding = with_column(padding);
  }
  if (padding.defined()) {
    const int64_t all = padding.size(1);
    const Tensor each = padding.view({batch, 1, 1, all}).expand({batch, heads, 1, all}).reshape({rows, 1, all});
    mask = mask.defined() ? mask + each : each;
  }
  const double dropout_p = o.training() ? o.dropout_p() : 0;
  Tensor output, weights;
  if (o.need_weights()) {
    const Tensor scores = (q * (1 / std::sqrt(static_cast<double>(head)))).bmm(k.transpose(1, 2));
    weights = tandem::dropout((mask.defined() ? scores + mask : scores).softmax(-1), dropout_p, true);
    output = weights.bmm(v);
    weights = weights.unflatten(0, {batch, heads});
    if (o.average_attn_weights()) weights = weights.mean(1);
  } else {
    // of four dimensions, which can go block by block
    const auto one = [](const Tensor& x) { return x.unsqueeze(0); };
    output = tandem::scaled_dot_product_attention(one(q), one(k), one(v), mask, dropout_p).squeeze(0);
    if (mask.defined()) {  // a query that may look at no key is NaN, as by softmax, and not 0
      const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
      const Tensor nowhere = mask.detach().eq(-inf).all(-1, /*keepdim=*/true);
      output = output * ones(nowhere.sizes(), output.options()).masked_fill(nowhere, nan);
    }
  }
  output = linear(output.transpose(0, 1).reshape({length, batch, features}), o.out_proj_weight(), o.out_proj_bias());
  return {output, weights};
}

}  // namespace functional

template class Cloneable<MultiheadAttentionImpl>;

void MultiheadAttentionImpl::reset() {
  const auto& o = options;
  const int64_t features = o.embed_dim();
  TANDEM_CHECK(features > 0 && o.num_heads() > 0 && features % o.num_heads() == 0, "MultiheadAttention: embed_dim is ",
               features, " and num_heads ", o.num_heads(), "; both must be positive, and embed_dim a multiple");
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
