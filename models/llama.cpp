// Implements LlamaForCausalLM: rotary embeddings, and reset() and forward() of its layers.
#include "tandem/models/llama.h"

#include "tandem/core/internal.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

void check_llama_size(const char* name, int64_t value) {
  TANDEM_CHECK(value > 0, "LlamaModel: ", name, " is ", value, "; it must be positive");
}
nn::Linear make_projection(int64_t in_features, int64_t out_features, bool bias) {
  return nn::Linear(nn::LinearOptions(in_features, out_features).bias(bias));
}
nn::RMSNorm make_rms_norm(const LlamaConfig& c) {
  return nn::RMSNorm(nn::RMSNormOptions({c.hidden_size()}).eps(c.rms_norm_eps()));
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(int64_t head_dim, double theta) : head_dim_(head_dim), theta_(theta) {
  TANDEM_CHECK(head_dim > 0 && head_dim % 2 == 0, "RotaryEmbedding: head_dim is ", head_dim,
               "; it must be even and positive");
  TANDEM_CHECK(theta > 0, "RotaryEmbedding: theta is ", theta, "; it must be positive");
}
std::pair<Tensor, Tensor> RotaryEmbedding::forward(const Tensor& positions, DType dtype) const {
  const TensorOptions options = TensorOptions(kFloat32).device(positions.device());
  const Tensor exponent = arange(0, head_dim_, 2, options) / static_cast<double>(head_dim_);
  const Tensor frequency = pow(Scalar(theta_), exponent).reciprocal();
  const Tensor half = positions.to(kFloat32).unsqueeze(-1) * frequency;
  const Tensor angle = cat({half, half}, -1);
  return {angle.cos().to(dtype), angle.sin().to(dtype)};
}
Tensor rotate_half(const Tensor& x) {
  const int64_t half = x.size(-1) / 2;
  return cat({-x.narrow(-1, half, half), x.narrow(-1, 0, half)}, -1);
}
Tensor apply_rotary_pos_emb(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto with_heads = [](const Tensor& t) { return t.unsqueeze(-3); };
  return x * with_heads(cos) + rotate_half(x) * with_heads(sin);
}

void LlamaAttentionImpl::reset() {
  const int64_t heads = config.num_attention_heads(), key_heads = config.key_value_heads();
  TANDEM_CHECK(heads > 0 && key_heads > 0 && heads % key_heads == 0, "LlamaModel: num_key_value_heads ", key_heads,
               " must divide num_attention_heads ", heads, ", and both must be positive");
  TANDEM_CHECK(config.head_dim_override() || (config.hidden_size() > 0 && config.hidden_size() % heads == 0),
               "LlamaModel: num_attention_heads ", heads, " must divide hidden_size ", config.hidden_size());
  const int64_t size = config.hidden_size(), head_dim = config.head_dim();
  const bool bias = config.attention_bias();
  q_proj = register_module("q_proj", make_projection(size, heads * head_dim, bias));
  k_proj = register_module("k_proj", make_projection(size, key_heads * head_dim, bias));
  v_proj = register_module("v_proj", make_projection(size, key_heads * head_dim, bias));
  o_proj = register_module("o_proj", make_projection(heads * head_dim, size, bias));
}
Tensor LlamaAttentionImpl::forward(const Tensor& x, const Tensor& cos, const Tensor& sin,
                                   const DecoderContext& context) {
  const int64_t n = x.size(0), length = x.size(1), head_dim = config.head_dim();
  const auto split_heads = [&](const Tensor& t) { return t.view({n, length, -1, head_dim}).transpose(1, 2); };
  const Tensor attended = detail::decoder_attention(
      apply_rotary_pos_emb(split_heads(q_proj(x)), cos, sin), apply_rotary_pos_emb(split_heads(k_proj(x)), cos, sin),
      split_heads(v_proj(x)), context, is_training() ? config.attention_dropout() : 0);
  return o_proj(attended.transpose(1, 2).reshape({n, length, -1}));
}

void LlamaMlpImpl::reset() {
  check_llama_size("intermediate_size", config.intermediate_size());
  const int64_t size = config.hidden_size(), inner = config.intermediate_size();
  gate_proj = register_module("gate_proj", make_projection(size, inner, config.mlp_bias()));
  up_proj = register_module("up_proj", make_projection(size, inner, config.mlp_bias()));
  down_proj = register_module("down_proj", make_projection(inner, size, config.mlp_bias()));
}
Tensor LlamaMlpImpl::forward(const Tensor& x) { return down_proj(silu(gate_proj(x)) * up_proj(x)); }

void LlamaDecoderLayerImpl::reset() {
  self_attn = register_module("self_attn", LlamaAttention(config));
  mlp = register_module("mlp", LlamaMlp(config));
  input_layernorm = register_module("input_layernorm", make_rms_norm(config));
  post_attention_layernorm = register_module("post_attention_layernorm", make_rms_norm(config));
}
Tensor LlamaDecoderLayerImpl::forward(const Tensor& x, const Tensor& cos, const Tensor& sin,
                                      const DecoderContext& context) {
  const Tensor attended = x + self_attn(input_layernorm(x), cos, sin, context);
  return attended + mlp(post_attention_layernorm(attended));
}

void LlamaModelImpl::reset() {
  check_llama_size("vocab_size", config.vocab_size());
  check_llama_size("hidden_size", config.hidden_size());
  check_llama_size("num_hidden_layers", config.num_hidden_layers());
  check_llama_size("num_attention_heads", config.num_attention_heads());
  check_llama_size("max_position_embeddings", config.max_position_embeddings());
  embed_tokens = register_module("embed_tokens", nn::Embedding(config.vocab_size(), config.hidden_size()));
  layers = register_module("layers", nn::ModuleList());
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i) layers->push_back(LlamaDecoderLayer(config));
  norm = register_module("norm", make_rms_norm(config));
  const NoGradGuard no_grad;
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    if (item->dim() > 1)
      nn::init::normal_(item.value(), 0, config.initializer_range());
    else if (name.size() > 5 && name.compare(name.size() - 5, 5, ".bias") == 0)
      nn::init::zeros_(item.value());
  }
}
Tensor LlamaModelImpl::forward(const Tensor& input_ids, const Tensor& attention_mask, KvCache* cache) {
  TANDEM_CHECK(input_ids.dim() == 2, "LlamaModel: input_ids is ", input_ids.sizes(),
               "; accepted: (N, L), for N texts of L tokens");
  const int64_t past = cache ? cache->length() : 0, length = input_ids.size(1);
  TANDEM_CHECK(past + length <= config.max_position_embeddings(), "LlamaModel: input_ids is ", input_ids.sizes(),
               past ? " after " + std::to_string(past) + " cached tokens" : "", "; accepted: at most ",
               config.max_position_embeddings(), " tokens per text (max_position_embeddings)");
  TANDEM_CHECK(!attention_mask.defined() || attention_mask.sizes() == Shape({input_ids.size(0), past + length}),
               "LlamaModel: attention_mask is ", attention_mask.sizes(), " and input_ids ", input_ids.sizes(),
               "; accepted: (", input_ids.size(0), ", ", past + length, ")");
  Tensor hidden = embed_tokens(input_ids);
  const auto [cos, sin] =
      RotaryEmbedding(config.head_dim(), config.rope_theta())
          .forward(detail::make_positions(attention_mask, past, length, input_ids.device()), hidden.dtype());
  DecoderContext context{detail::make_decoder_mask(attention_mask, past, length, input_ids.device()), cache};
  for (size_t i = 0; i < layers->size(); ++i) {
    context.layer = static_cast<int64_t>(i);
    hidden = tandem::detail::call_module(layers->at<LlamaDecoderLayerImpl>(i), hidden, cos, sin, context);
  }
  if (cache) cache->advance(length);
  return norm(hidden);
}

void LlamaForCausalLMImpl::reset() {
  model = register_module("model", LlamaModel(config));
  if (config.tie_word_embeddings()) return;
  lm_head = register_module("lm_head", make_projection(config.hidden_size(), config.vocab_size(), false));
  nn::init::normal_(lm_head->weight, 0, config.initializer_range());
}
Tensor LlamaForCausalLMImpl::logits(const Tensor& hidden) {
  return lm_head.is_empty() ? nn::functional::linear(hidden, model->embed_tokens->weight) : lm_head(hidden);
}
Tensor LlamaForCausalLMImpl::forward(const Tensor& input_ids, const Tensor& attention_mask, KvCache* cache) {
  return logits(model(input_ids, attention_mask, cache));
}
Tensor LlamaForCausalLMImpl::loss(const Tensor& input_ids, const Tensor& labels) {
  TANDEM_CHECK(labels.sizes() == input_ids.sizes(), "LlamaForCausalLM: labels is ", labels.sizes(), " and input_ids ",
               input_ids.sizes(), "; they must have the same shape");
  const int64_t num_predictions = labels.size(1) - 1;
  return cross_entropy(forward(input_ids).narrow(1, 0, num_predictions).flatten(0, 1),
                       labels.narrow(1, 1, num_predictions).flatten());
}
KvCache LlamaForCausalLMImpl::make_cache(int64_t batch, int64_t max_length) const {
  return KvCache(config.num_hidden_layers(), batch, config.key_value_heads(), max_length, config.head_dim(),
                 model->embed_tokens->weight.detach().options());
}
Tensor LlamaForCausalLMImpl::generate(const Tensor& input_ids, const GenerationOptions& options,
                                      const Tensor& attention_mask) {
  const auto next_logits = [this](const Tensor& ids, const Tensor& mask, KvCache* cache) {
    return logits(model(ids, mask, cache).select(1, -1));
  };
  return detail::generate_tokens(
      {"LlamaForCausalLM", is_training(), config.vocab_size(), config.max_position_embeddings(), next_logits,
       [this](int64_t n, int64_t length) { return make_cache(n, length); }},
      input_ids, options, attention_mask);
}

}  // namespace tandem::models
