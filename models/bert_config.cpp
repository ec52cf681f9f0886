// Reads and writes BertConfig as a config.json.
#include <algorithm>
#include <charconv>

#include "tandem/core/error.h"
#include "tandem/models/bert.h"
#include "tandem/serialize/json_file.h"
#include "tandem/serialize/json_writer.h"

namespace tandem::models {
namespace {

/// Returns the labels of an id2label object such as {"0": "no", "1": "yes"}, by number.
std::vector<std::string> read_labels(const tandem::detail::JsonFile& file) {
  const auto members = file.text_members("id2label");
  std::vector<std::string> labels(members.size());
  std::vector<bool> seen(members.size());
  for (const auto& [id, label] : members) {
    size_t at = labels.size();
    const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), at);
    TANDEM_CHECK(error == std::errc() && end == id.data() + id.size() && at < labels.size() && !seen[at], file.path(),
                 ": id2label has the key \"", id, "\"; accepted: each number from 0 to ", labels.size() - 1);
    labels[at] = label;
    seen[at] = true;
  }
  return labels;
}

}  // namespace

BertConfig& BertConfig::num_labels(int64_t count) {
  TANDEM_CHECK(count > 0, "BertConfig: num_labels is ", count, "; it must be positive");
  if (count == num_labels()) return *this;
  id2label_.clear();
  for (int64_t i = 0; i < count; ++i) id2label_.push_back("LABEL_" + std::to_string(i));
  return *this;
}

int64_t BertConfig::label2id(const std::string& label) const {
  const auto found = std::find(id2label_.begin(), id2label_.end(), label);
  if (found == id2label_.end()) {
    std::string accepted;
    for (const std::string& each : id2label_) accepted += (accepted.empty() ? "" : ", ") + each;
    TANDEM_FAIL("BertConfig: there is no label \"", label, "\"; accepted: ", accepted);
  }
  return found - id2label_.begin();
}

BertConfig BertConfig::from_json_file(const std::string& path) {
  const tandem::detail::JsonFile file(path);
  const auto only = [&](const char* key, const std::string& accepted) {
    const std::string text = file.text(key).value_or(accepted);
    TANDEM_CHECK(text == accepted, path, ": ", key, " is ", text, "; accepted: ", accepted);
  };
  only("model_type", "bert");
  only("position_embedding_type", "absolute");
  TANDEM_CHECK(!file.boolean("is_decoder").value_or(false), path,
               ": is_decoder is true, but only encoders are supported");
  BertConfig c;
  const auto integer = [&](const char* key, int64_t& field) { field = file.integer(key).value_or(field); };
  const auto number = [&](const char* key, double& field) { field = file.number(key).value_or(field); };
  integer("vocab_size", c.vocab_size());
  integer("hidden_size", c.hidden_size());
  integer("num_hidden_layers", c.num_hidden_layers());
  integer("num_attention_heads", c.num_attention_heads());
  integer("intermediate_size", c.intermediate_size());
  integer("max_position_embeddings", c.max_position_embeddings());
  integer("type_vocab_size", c.type_vocab_size());
  integer("pad_token_id", c.pad_token_id());
  number("hidden_dropout_prob", c.hidden_dropout_prob());
  number("attention_probs_dropout_prob", c.attention_probs_dropout_prob());
  number("initializer_range", c.initializer_range());
  number("layer_norm_eps", c.layer_norm_eps());
  c.hidden_act(file.text("hidden_act").value_or(c.hidden_act()));
  c.classifier_dropout(file.number("classifier_dropout"));
  c.problem_type(file.text("problem_type").value_or(""));
  if (const auto labels = read_labels(file); !labels.empty()) c.id2label(labels);
  if (const auto count = file.integer("num_labels")) c.num_labels(*count);
  return c;
}

void BertConfig::to_json_file(const std::string& path, const std::string& architecture) const {
  tandem::detail::JsonWriter file;
  file.texts("architectures", {architecture});
  file.text("model_type", "bert");
  file.integer("vocab_size", vocab_size());
  file.integer("hidden_size", hidden_size());
  file.integer("num_hidden_layers", num_hidden_layers());
  file.integer("num_attention_heads", num_attention_heads());
  file.integer("intermediate_size", intermediate_size());
  file.text("hidden_act", hidden_act());
  file.number("hidden_dropout_prob", hidden_dropout_prob());
  file.number("attention_probs_dropout_prob", attention_probs_dropout_prob());
  file.integer("max_position_embeddings", max_position_embeddings());
  file.integer("type_vocab_size", type_vocab_size());
  file.number("initializer_range", initializer_range());
  file.number("layer_norm_eps", layer_norm_eps());
  file.integer("pad_token_id", pad_token_id());
  file.text("position_embedding_type", "absolute");
  if (classifier_dropout())
    file.number("classifier_dropout", *classifier_dropout());
  else
    file.null("classifier_dropout");
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<std::pair<std::string, int64_t>> numbers;
  for (const std::string& label : id2label()) {
    const auto id = static_cast<int64_t>(labels.size());
    labels.emplace_back(std::to_string(id), label);
    numbers.emplace_back(label, id);
  }
  file.text_members("id2label", labels);
  file.integer_members("label2id", numbers);
  if (!problem_type().empty()) file.text("problem_type", problem_type());
  file.save(path);
}

}  // namespace tandem::models
