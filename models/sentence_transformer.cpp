// SentenceTransformer: loads the configuration and weights in a folder, and pools and normalizes hidden states.
#include "tandem/models/sentence_transformer.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "tandem/core/internal.h"
#include "tandem/models/pretrained.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/json_file.h"
#include "tandem/serialize/module.h"

namespace tandem::models {
namespace {

using tandem::detail::JsonFile;
bool file_exists(const std::string& path) { return std::filesystem::exists(path); }

/// Returns a copy of the folder's tokenizer, whose model_max_length may be changed.
text::BertTokenizer load_bert_tokenizer(const std::string& folder) {
  const auto tokenizer = std::dynamic_pointer_cast<const text::BertTokenizer>(text::load_tokenizer(folder));
  TANDEM_CHECK(tokenizer, "SentenceTransformer: the tokenizer in ", folder, " is not BERT's; accepted: WordPiece");
  return *tokenizer;
}

}  // namespace

SentenceTransformer::SentenceTransformer(const std::string& folder, Device device)
    : tokenizer(load_bert_tokenizer(folder)), device_(device) {
  const BertConfig config = BertConfig::from_json_file(detail::path_in(folder, "config.json"));
  TANDEM_CHECK(tokenizer.vocab_size() <= config.vocab_size(), "SentenceTransformer: ", folder, " has a tokenizer of ",
               tokenizer.vocab_size(), " tokens, but config.json has a vocab_size of ", config.vocab_size(),
               "; the vocabulary may be of another model");
  read_modules(folder);
  int64_t max_length = std::min(tokenizer.model_max_length(), config.max_position_embeddings());
  if (const std::string path = detail::path_in(folder, "sentence_bert_config.json"); file_exists(path))
    max_length = std::min(max_length, JsonFile(path).integer("max_seq_length").value_or(max_length));
  tokenizer = tokenizer.with_model_max_length(max_length);
  model = BertModel(config, /*add_pooling_layer=*/false);
  load(model, detail::find_weights_file("SentenceTransformer", folder));
  model->to(device);
  model->eval();
}

void SentenceTransformer::read_modules(const std::string& folder) {
  const std::string path = detail::path_in(folder, "modules.json");
  if (!file_exists(path)) return;
  for (const JsonFile& module : JsonFile(path).elements()) {
    const std::string type = module.text("type").value_or("");
    const std::string name = type.substr(type.rfind('.') + 1);
    TANDEM_CHECK(name == "Transformer" || name == "Pooling" || name == "Normalize", path, " has a module of type ",
                 type, "; accepted: Transformer, Pooling, Normalize");
    normalize = normalize || name == "Normalize";
    if (name != "Pooling") continue;
    const JsonFile pooling(detail::path_in(detail::path_in(folder, module.text("path").value_or("")), "config.json"));
    for (const std::string& mode : pooling.true_keys())
      TANDEM_CHECK(mode.rfind("pooling_mode_", 0) != 0 || mode == "pooling_mode_mean_tokens", pooling.path(),
                   " asks for ", mode, "; accepted: pooling_mode_mean_tokens");
  }
}

Tensor SentenceTransformer::forward(const text::BatchEncoding& batch) {
  // A batch without padding needs no mask, neither in the attention nor in the mean. The test is made before the mask
  // is copied to the device, because item() would wait for a GPU.
  const bool padded = !batch.attention_mask.all().item<bool>();
  const Tensor mask = padded ? batch.attention_mask.to(device_) : Tensor();
  const Tensor hidden = std::get<0>(model(batch.input_ids.to(device_), mask));
  Tensor mean;
  if (padded) {
    const Tensor weight = mask.to(hidden.dtype()).unsqueeze(-1);  // (N, L, 1)
    mean = (hidden * weight).sum(1) / weight.sum(1);
  } else {
    mean = hidden.mean(1);
  }
  return normalize ? nn::functional::normalize(mean) : mean;
}

Tensor SentenceTransformer::encode(const std::vector<std::string>& texts, int64_t batch_size) {
  TANDEM_CHECK(batch_size > 0, "encode: batch_size is ", batch_size, "; it must be positive");
  const NoGradGuard no_grad;
  const size_t count = texts.size(), width = static_cast<size_t>(batch_size);
  std::vector<text::Encoding> encoded = tokenizer.encode_batch(texts);
  std::vector<size_t> order(count);  // indices of texts, longest first, so that batches need little padding
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return encoded[a].ids.size() > encoded[b].ids.size(); });
  const Tensor out = empty({static_cast<int64_t>(count), model->config.hidden_size()});
  for (size_t at = 0; at < count; at += width) {
    std::vector<text::Encoding> batch;
    for (size_t i = at; i < std::min(at + width, count); ++i) batch.push_back(std::move(encoded[order[i]]));
    const Tensor vectors = forward(tokenizer.pad(batch)).cpu();
    for (size_t i = 0; i < batch.size(); ++i)
      out[static_cast<int64_t>(order[at + i])].copy_(vectors[static_cast<int64_t>(i)]);
  }
  return out;
}

}  // namespace tandem::models
