// Implements GptModel: reset() and forward() of its layers, loading of weights, and the loss of predicting the next
// token.
#include "tandem/models/gpt.h"

#include <cmath>

#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tandem/serialize/file.h"

namespace tandem::models {
namespace {

nn::LayerNorm make_layer_norm(const GptConfig& c) {
  return nn::LayerNorm(nn::LayerNormOptions({c.n_embd()}).eps(c.layer_norm_epsilon()));
}
void check_positive_size(const char* name, int64_t value) {
  TANDEM_CHECK(value > 0, "GptModel: ", name, " is ", value, "; it must be positive");
}

}  // namespace

void GptConv1DImpl::reset() {
  weight = register_parameter("weight", randn({in_features, out_features}) * 0.02);
  bias = register_parameter("bias", zeros({out_features}));
}

void GptAttentionImpl::reset() {
  const int64_t width = config.n_embd(), heads = config.n_head();
  TANDEM_CHECK(heads > 0 && width > 0 && width % heads == 0, "GptModel: n_head ", heads, " must divide n_embd ", width,
               ", and both must be positive");
  c_attn = register_module("c_attn", GptConv1D(width, 3 * width));
  c_proj = register_module("c_proj", GptConv1D(width, width));
  resid_dropout = register_module("resid_dropout", nn::Dropout(config.resid_pdrop()));
}
Tensor GptAttentionImpl::forward(const Tensor& x, const DecoderContext& context) {
  const int64_t n = x.size(0), length = x.size(1), heads = config.n_head();
  const std::vector<Tensor> parts = c_attn(x).view({n, length, 3, heads, -1}).unbind(2);
  const auto split_heads = [&](size_t i) { return parts[i].transpose(1, 2); };
  const Tensor attended = detail::decoder_attention(split_heads(0), split_heads(1), split_heads(2), context,
                                                    is_training() ? config.attn_pdrop() : 0);
  return resid_dropout(c_proj(attended.transpose(1, 2).reshape({n, length, -1})));
}

void GptMlpImpl::reset() {
  const std::string& act = config.activation_function();
  TANDEM_CHECK(act == "gelu" || act == "gelu_new" || act == "relu", "GptModel: activation_function is ", act,
               "; accepted: gelu, gelu_new, relu");
  c_fc = register_module("c_fc", GptConv1D(config.n_embd(), 4 * config.n_embd()));
  c_proj = register_module("c_proj", GptConv1D(4 * config.n_embd(), config.n_embd()));
  dropout = register_module("dropout", nn::Dropout(config.resid_pdrop()));
}
Tensor GptMlpImpl::forward(const Tensor& x) {
  const Tensor y = c_fc(x);
  const std::string& act = config.activation_function();
  return dropout(c_proj(act == "relu" ? y.relu() : gelu(y, act == "gelu" ? "none" : "tanh")));
}

void GptBlockImpl::reset() {
  ln_1 = register_module("ln_1", make_layer_norm(config));
  attn = register_module("attn", GptAttention(config));
  ln_2 = register_module("ln_2", make_layer_norm(config));
  mlp = register_module("mlp", GptMlp(config));
}
Tensor GptBlockImpl::forward(const Tensor& x, const DecoderContext& context) {
  const Tensor attended = x + attn(ln_1(x), context);
  return attended + mlp(ln_2(attended));
}

void GptModelImpl::reset() {
  check_positive_size("vocab_size", config.vocab_size());
  check_positive_size("n_positions", config.n_positions());
  check_positive_size("n_layer", config.n_layer());
  wte = register_module("wte", nn::Embedding(config.vocab_size(), config.n_embd()));
  wpe = register_module("wpe", nn::Embedding(config.n_positions(), config.n_embd()));
  drop = register_module("drop", nn::Dropout(config.embd_pdrop()));
  h = register_module("h", nn::ModuleList());
  for (int64_t i = 0; i < config.n_layer(); ++i) h->push_back(GptBlock(config));
  ln_f = register_module("ln_f", make_layer_norm(config));
  if (!config.tie_word_embeddings())
    lm_head =
        register_module("lm_head", nn::Linear(nn::LinearOptions(config.n_embd(), config.vocab_size()).bias(false)));
  const NoGradGuard no_grad;
  const double initial_std = config.initializer_range(),
               residual_std = initial_std / std::sqrt(2 * static_cast<double>(config.n_layer()));
  for (const auto& item : named_parameters()) {
    const std::string& name = item.key();
    if (item->dim() < 2) continue;
    const bool is_residual_projection = name.size() > 13 && name.compare(name.size() - 13, 13, "c_proj.weight") == 0;
    nn::init::normal_(item.value(), 0, is_residual_projection ? residual_std : initial_std);
  }
}
void GptModelImpl::load(serialize::InputArchive& archive) {
  const nn::NamedParameters own_state = state_dict();
  nn::NamedParameters state;
  tandem::detail::with_error_context("load: " + archive.name(), [&] {
    for (auto& [name, tensor] : tandem::detail::flatten_tensors(archive.value(), /*skip_others=*/true)) {
      const std::string own_name = name.rfind("transformer.", 0) == 0 ? name.substr(12) : name;
      if (own_state.contains(own_name)) state.insert(own_name, std::move(tensor));
    }
    load_state_dict(state);
  });
}
Tensor GptModelImpl::hidden_states(const Tensor& input_ids, const Tensor& attention_mask, KvCache* cache) {
  TANDEM_CHECK(input_ids.dim() == 2, "GptModel: input_ids is ", input_ids.sizes(),
               "; accepted: (N, L), for N texts of L tokens");
  const int64_t past = cache ? cache->length() : 0, length = input_ids.size(1);
  TANDEM_CHECK(past + length <= config.n_positions(), "GptModel: input_ids is ", input_ids.sizes(),
               past ? " after " + std::to_string(past) + " cached tokens" : "", "; accepted: at most ",
               config.n_positions(), " tokens per text (n_positions)");
  TANDEM_CHECK(!attention_mask.defined() || attention_mask.sizes() == Shape({input_ids.size(0), past + length}),
               "GptModel: attention_mask is ", attention_mask.sizes(), " and input_ids ", input_ids.sizes(),
               "; accepted: (", input_ids.size(0), ", ", past + length, ")");
  const Tensor position = attention_mask.defined()
                              ? wpe(detail::make_positions(attention_mask, past, length, input_ids.device()))
                              : wpe->weight.narrow(0, past, length);
  Tensor hidden = drop(wte(input_ids) + position);
  DecoderContext context{detail::make_decoder_mask(attention_mask, past, length, input_ids.device()), cache};
  for (size_t i = 0; i < h->size(); ++i) {
    context.layer = static_cast<int64_t>(i);
    hidden = call_module(h->at<GptBlockImpl>(i), hidden, context);
  }
  if (cache) cache->advance(length);
  return ln_f(hidden);
}
Tensor GptModelImpl::logits(const Tensor& hidden) {
  return lm_head.is_empty() ? nn::functional::linear(hidden, wte->weight) : lm_head(hidden);
}
Tensor GptModelImpl::forward(const Tensor& input_ids, const Tensor& attention_mask, KvCache* cache) {
  return logits(hidden_states(input_ids, attention_mask, cache));
}
KvCache GptModelImpl::make_cache(int64_t batch, int64_t max_length) const {
  return KvCache(config.n_layer(), batch, config.n_head(), max_length, config.n_embd() / config.n_head(),
                 wte->weight.detach().options());
}
Tensor GptModelImpl::generate(const Tensor& input_ids, const GenerationOptions& options, const Tensor& attention_mask) {
  const auto next_logits = [this](const Tensor& ids, const Tensor& mask, KvCache* cache) {
    return logits(hidden_states(ids, mask, cache).select(1, -1));
  };
  return detail::generate_tokens({"GptModel", is_training(), config.vocab_size(), config.n_positions(), next_logits,
                                  [this](int64_t n, int64_t length) { return make_cache(n, length); }},
                                 input_ids, options, attention_mask);
}
Tensor GptModelImpl::loss(const Tensor& input_ids, const Tensor& labels) {
  TANDEM_CHECK(labels.sizes() == input_ids.sizes(), "GptModel: labels is ", labels.sizes(), " and input_ids ",
               input_ids.sizes(), "; they must have the same shape");
  const int64_t num_predictions = labels.size(1) - 1;
  return cross_entropy(forward(input_ids).narrow(1, 0, num_predictions).flatten(0, 1),
                       labels.narrow(1, 1, num_predictions).flatten());
}

}  // namespace tandem::models
