// Implements reset() and forward() of BertModel and its layers.
#include "tandem/models/bert.h"

#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tandem/serialize/file.h"

namespace tandem::models {
namespace {

nn::LayerNorm make_layer_norm(const BertConfig& c) {
  return nn::LayerNorm(nn::LayerNormOptions({c.hidden_size()}).eps(c.layer_norm_eps()));
}
void check_positive(const char* name, int64_t value) {
  TANDEM_CHECK(value > 0, "BertModel: ", name, " is ", value, "; it must be positive");
}

}  // namespace

void BertEmbeddingsImpl::reset() {
  check_positive("vocab_size", config.vocab_size());
  check_positive("max_position_embeddings", config.max_position_embeddings());
  check_positive("type_vocab_size", config.type_vocab_size());
  const auto table = [&](const char* name, const nn::EmbeddingOptions& o) {
    return register_module(name, nn::Embedding(o));
  };
  const int64_t size = config.hidden_size();
  word_embeddings =
      table("word_embeddings", nn::EmbeddingOptions(config.vocab_size(), size).padding_idx(config.pad_token_id()));
  position_embeddings = table("position_embeddings", {config.max_position_embeddings(), size});
  token_type_embeddings = table("token_type_embeddings", {config.type_vocab_size(), size});
  LayerNorm = register_module("LayerNorm", make_layer_norm(config));
  dropout = register_module("dropout", nn::Dropout(config.hidden_dropout_prob()));
}
Tensor BertEmbeddingsImpl::forward(const Tensor& input_ids, const Tensor& token_type_ids) {
  const Tensor position = position_embeddings->weight.narrow(0, 0, input_ids.size(1));
  const Tensor type =
      token_type_ids.defined() ? token_type_embeddings(token_type_ids) : token_type_embeddings->weight.select(0, 0);
  return dropout(LayerNorm(word_embeddings(input_ids) + (position + type)));
}

void BertSelfAttentionImpl::reset() {
  const int64_t size = config.hidden_size(), heads = config.num_attention_heads();
  TANDEM_CHECK(heads > 0 && size > 0 && size % heads == 0, "BertModel: num_attention_heads ", heads,
               " must divide hidden_size ", size, ", and both must be positive");
  query = register_module("query", nn::Linear(size, size));
  key = register_module("key", nn::Linear(size, size));
  value = register_module("value", nn::Linear(size, size));
}
Tensor BertSelfAttentionImpl::forward(const Tensor& x, const Tensor& mask) {
  const int64_t n = x.size(0), length = x.size(1), heads = config.num_attention_heads();
  const auto split_heads = [&](const Tensor& t) { return t.view({n, length, heads, -1}).transpose(1, 2); };
  const Tensor attended =
      scaled_dot_product_attention(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), mask,
                                   is_training() ? config.attention_probs_dropout_prob() : 0);
  return attended.transpose(1, 2).reshape({n, length, -1});
}

void BertOutputImpl::reset() {
  dense = register_module("dense", nn::Linear(in_features, config.hidden_size()));
  LayerNorm = register_module("LayerNorm", make_layer_norm(config));
  dropout = register_module("dropout", nn::Dropout(config.hidden_dropout_prob()));
}
Tensor BertOutputImpl::forward(const Tensor& x, const Tensor& residual) {
  return LayerNorm(dropout(dense(x)) + residual);
}

void BertAttentionImpl::reset() {
  self = register_module("self", BertSelfAttention(config));
  output = register_module("output", BertOutput(config.hidden_size(), config));
}

void BertIntermediateImpl::reset() {
  check_positive("intermediate_size", config.intermediate_size());
  const std::string& act = config.hidden_act();
  TANDEM_CHECK(act == "gelu" || act == "gelu_new" || act == "relu", "BertModel: hidden_act is ", act,
               "; accepted: gelu, gelu_new, relu");
  dense = register_module("dense", nn::Linear(config.hidden_size(), config.intermediate_size()));
}
Tensor BertIntermediateImpl::forward(const Tensor& x) {
  const Tensor y = dense(x);
  return config.hidden_act() == "relu" ? y.relu() : gelu(y, config.hidden_act() == "gelu" ? "none" : "tanh");
}

void BertLayerImpl::reset() {
  attention = register_module("attention", BertAttention(config));
  intermediate = register_module("intermediate", BertIntermediate(config));
  output = register_module("output", BertOutput(config.intermediate_size(), config));
}
Tensor BertLayerImpl::forward(const Tensor& x, const Tensor& mask) {
  const Tensor attended = attention(x, mask);
  return output(intermediate(attended), attended);
}

void BertEncoderImpl::reset() {
  check_positive("num_hidden_layers", config.num_hidden_layers());
  layer = register_module("layer", nn::ModuleList());
  for (int64_t i = 0; i < config.num_hidden_layers(); ++i) layer->push_back(BertLayer(config));
}
Tensor BertEncoderImpl::forward(const Tensor& x, const Tensor& mask) {
  Tensor hidden = x;
  for (size_t i = 0; i < layer->size(); ++i) hidden = call_module(layer->at<BertLayerImpl>(i), hidden, mask);
  return hidden;
}

void BertPoolerImpl::reset() {
  dense = register_module("dense", nn::Linear(config.hidden_size(), config.hidden_size()));
}

void BertModelImpl::reset() {
  embeddings = register_module("embeddings", BertEmbeddings(config));
  encoder = register_module("encoder", BertEncoder(config));
  if (add_pooling_layer) pooler = register_module("pooler", BertPooler(config));
  const NoGradGuard no_grad;
  for (const auto& module : modules()) {
    if (auto* linear = module->as<nn::Linear>()) {
      nn::init::normal_(linear->weight, 0, config.initializer_range());
      nn::init::zeros_(linear->bias);
    } else if (auto* table = module->as<nn::Embedding>()) {
      // Scale the weight, which nn::Embedding has drawn from N(0, 1), to the configured deviation; [PAD] has zeros.
      table->weight.mul_(config.initializer_range());
    }
  }
}
void BertModelImpl::load(serialize::InputArchive& archive) {
  const nn::NamedParameters own_state = state_dict();
  nn::NamedParameters state;
  const auto rename = [](std::string& name, const std::string& from, const char* to) {
    const size_t at = name.rfind(from);
    if (at != std::string::npos && at + from.size() == name.size()) name.replace(at, from.size(), to);
  };
  tandem::detail::with_error_context("load: " + archive.name(), [&] {
    for (auto& [name, tensor] : tandem::detail::flatten_tensors(archive.value(), /*skip_others=*/true)) {
      std::string own_name = name.rfind("bert.", 0) == 0 ? name.substr(5) : name;
      rename(own_name, "LayerNorm.gamma", "LayerNorm.weight");
      rename(own_name, "LayerNorm.beta", "LayerNorm.bias");
      if (own_state.contains(own_name)) state.insert(own_name, std::move(tensor));
    }
    load_state_dict(state);
  });
}
std::tuple<Tensor, Tensor> BertModelImpl::forward(const Tensor& input_ids, const Tensor& attention_mask,
                                                  const Tensor& token_type_ids) {
  TANDEM_CHECK(input_ids.dim() == 2, "BertModel: input_ids is ", input_ids.sizes(),
               "; accepted: (N, L), for N texts of L tokens");
  TANDEM_CHECK(input_ids.size(1) <= config.max_position_embeddings(), "BertModel: input_ids is ", input_ids.sizes(),
               "; accepted: at most ", config.max_position_embeddings(), " tokens per text (max_position_embeddings)");
  const auto check = [&](const char* name, const Tensor& t) {
    TANDEM_CHECK(!t.defined() || t.sizes() == input_ids.sizes(), "BertModel: ", name, " is ", t.sizes(),
                 " and input_ids ", input_ids.sizes(), "; they must have the same shape");
  };
  check("attention_mask", attention_mask);
  check("token_type_ids", token_type_ids);
  const Tensor mask = attention_mask.defined() ? (attention_mask != 0).unsqueeze(1).unsqueeze(1) : Tensor();
  const Tensor hidden = encoder(embeddings(input_ids, token_type_ids), mask);
  return {hidden, add_pooling_layer ? pooler(hidden) : Tensor()};
}

}  // namespace tandem::models
