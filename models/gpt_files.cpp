// Reads and writes GptConfig as a config.json, and GptModel in Hugging Face's layout.
#include "tandem/core/error.h"
#include "tandem/models/gpt.h"
#include "tandem/serialize/json_file.h"
#include "tandem/serialize/json_writer.h"

namespace tandem::models {

GptConfig GptConfig::from_json_file(const std::string& path) {
  const tandem::detail::JsonFile file(path);
  const std::string type = file.text("model_type").value_or("gpt2");
  TANDEM_CHECK(type == "gpt2", path, ": model_type is ", type, "; accepted: gpt2");
  const auto only = [&](const char* key, bool accepted) {
    TANDEM_CHECK(file.boolean(key).value_or(accepted) == accepted, path, ": ", key, " is ", accepted ? "false" : "true",
                 "; accepted: ", accepted ? "true" : "false");
  };
  only("add_cross_attention", false);
  only("scale_attn_weights", true);
  only("scale_attn_by_inverse_layer_idx", false);
  only("reorder_and_upcast_attn", false);
  GptConfig c;
  const auto integer = [&](const char* key, int64_t& field) { field = file.integer(key).value_or(field); };
  const auto number = [&](const char* key, double& field) { field = file.number(key).value_or(field); };
  integer("vocab_size", c.vocab_size());
  integer("n_positions", c.n_positions());
  integer("n_embd", c.n_embd());
  integer("n_layer", c.n_layer());
  integer("n_head", c.n_head());
  number("resid_pdrop", c.resid_pdrop());
  number("embd_pdrop", c.embd_pdrop());
  number("attn_pdrop", c.attn_pdrop());
  number("layer_norm_epsilon", c.layer_norm_epsilon());
  number("initializer_range", c.initializer_range());
  c.activation_function(file.text("activation_function").value_or(c.activation_function()));
  c.tie_word_embeddings(file.boolean("tie_word_embeddings").value_or(true));
  c.bos_token_id(file.integer("bos_token_id"));
  c.eos_token_id(file.integer("eos_token_id"));
  const int64_t inner = file.integer("n_inner").value_or(4 * c.n_embd());
  TANDEM_CHECK(inner == 4 * c.n_embd(), path, ": n_inner is ", inner, "; accepted: 4 n_embd, ", 4 * c.n_embd());
  return c;
}

void GptConfig::to_json_file(const std::string& path) const {
  tandem::detail::JsonWriter file;
  file.texts("architectures", {"GPT2LMHeadModel"});
  file.text("model_type", "gpt2");
  file.integer("vocab_size", vocab_size());
  file.integer("n_positions", n_positions());
  file.integer("n_embd", n_embd());
  file.integer("n_layer", n_layer());
  file.integer("n_head", n_head());
  file.text("activation_function", activation_function());
  file.number("resid_pdrop", resid_pdrop());
  file.number("embd_pdrop", embd_pdrop());
  file.number("attn_pdrop", attn_pdrop());
  file.number("layer_norm_epsilon", layer_norm_epsilon());
  file.number("initializer_range", initializer_range());
  file.boolean("tie_word_embeddings", tie_word_embeddings());
  for (const auto& [key, token] : {std::pair("bos_token_id", bos_token_id()), {"eos_token_id", eos_token_id()}}) {
    if (token)
      file.integer(key, *token);
    else
      file.null(key);
  }
  file.save(path);
}

void GptModelImpl::save_pretrained(const std::string& folder) const {
  nn::NamedParameters state;
  for (const auto& item : state_dict())
    state.insert(item.key().rfind("lm_head.", 0) == 0 ? item.key() : "transformer." + item.key(), item.value());
  detail::save_pretrained(state, folder);
  config.to_json_file(detail::path_in(folder, "config.json"));
}

GptModel GptModel::from_pretrained(const std::string& folder, const PretrainedOptions& options, LoadingInfo* info) {
  GptModel model(GptConfig::from_json_file(detail::path_in(folder, "config.json")));
  const bool tied = model->config.tie_word_embeddings();
  const auto to_model = [tied](const std::string& name) -> std::string {
    if (tied && name == "lm_head.weight") return {};  // a copy of wte.weight
    return name.rfind("transformer.", 0) == 0 ? name.substr(12) : name;
  };
  // A GPT2Model has no output layer.
  const auto is_head = [](const std::string& name) { return name == "lm_head.weight"; };
  detail::load_pretrained(model->state_dict(), {"GptModel", to_model, is_head}, folder, options, info);
  model->eval();
  return model;
}

}  // namespace tandem::models
