// Reads and writes LlamaConfig as a config.json, and LlamaForCausalLM in Hugging Face's layout.
#include "tandem/models/llama.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tandem/serialize/file.h"
#include "tandem/serialize/json_file.h"
#include "tandem/serialize/json_writer.h"
#include "tandem/serialize/module.h"

namespace tandem::models {

LlamaConfig LlamaConfig::from_json_file(const std::string& path) {
  const tandem::detail::JsonFile file(path);
  const auto only = [&](const tandem::detail::JsonFile& from, const char* key, const std::string& accepted) {
    const std::string text = from.text(key).value_or(accepted);
    TANDEM_CHECK(text == accepted, path, ": ", key, " is ", text, "; accepted: ", accepted);
  };
  only(file, "model_type", "llama");
  only(file, "hidden_act", "silu");
  LlamaConfig c;
  const auto integer = [&](const char* key, int64_t& field) { field = file.integer(key).value_or(field); };
  const auto number = [&](const char* key, double& field) { field = file.number(key).value_or(field); };
  const auto boolean = [&](const char* key, bool& field) { field = file.boolean(key).value_or(field); };
  integer("vocab_size", c.vocab_size());
  integer("hidden_size", c.hidden_size());
  integer("intermediate_size", c.intermediate_size());
  integer("num_hidden_layers", c.num_hidden_layers());
  integer("num_attention_heads", c.num_attention_heads());
  integer("num_key_value_heads", c.num_key_value_heads());
  integer("max_position_embeddings", c.max_position_embeddings());
  c.head_dim_override(file.integer("head_dim"));
  number("initializer_range", c.initializer_range());
  number("rms_norm_eps", c.rms_norm_eps());
  number("attention_dropout", c.attention_dropout());
  number("rope_theta", c.rope_theta());
  boolean("attention_bias", c.attention_bias());
  boolean("mlp_bias", c.mlp_bias());
  boolean("tie_word_embeddings", c.tie_word_embeddings());
  // transformers 5 writes rope_parameters, earlier versions rope_theta and rope_scaling.
  for (const char* const key : {"rope_parameters", "rope_scaling"})
    if (const auto rope = file.object(key)) {
      only(*rope, "rope_type", "default");
      c.rope_theta(rope->number("rope_theta").value_or(c.rope_theta()));
    }
  return c;
}

void LlamaConfig::to_json_file(const std::string& path) const {
  tandem::detail::JsonWriter file;
  file.texts("architectures", {"LlamaForCausalLM"});
  file.text("model_type", "llama");
  file.integer("vocab_size", vocab_size());
  file.integer("hidden_size", hidden_size());
  file.integer("intermediate_size", intermediate_size());
  file.integer("num_hidden_layers", num_hidden_layers());
  file.integer("num_attention_heads", num_attention_heads());
  file.integer("num_key_value_heads", key_value_heads());
  file.integer("head_dim", head_dim());
  file.text("hidden_act", "silu");
  file.integer("max_position_embeddings", max_position_embeddings());
  file.number("initializer_range", initializer_range());
  file.number("rms_norm_eps", rms_norm_eps());
  file.number("rope_theta", rope_theta());
  file.number("attention_dropout", attention_dropout());
  file.boolean("attention_bias", attention_bias());
  file.boolean("mlp_bias", mlp_bias());
  file.boolean("tie_word_embeddings", tie_word_embeddings());
  file.save(path);
}

void LlamaForCausalLMImpl::load(serialize::InputArchive& archive) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (auto& [name, tensor] : tandem::detail::flatten_tensors(archive.value(), /*skip_others=*/true))
    if (!config.tie_word_embeddings() || name != "lm_head.weight") tensors.emplace_back(name, std::move(tensor));
  tandem::detail::with_error_context("load: " + archive.name(), [&] { tandem::detail::load_tensors(*this, tensors); });
}

void LlamaForCausalLMImpl::save_pretrained(const std::string& folder) const {
  detail::save_pretrained(state_dict(), folder);
  config.to_json_file(detail::path_in(folder, "config.json"));
}

LlamaForCausalLM LlamaForCausalLM::from_pretrained(const std::string& folder, const PretrainedOptions& options,
                                                   LoadingInfo* info) {
  LlamaForCausalLM model(LlamaConfig::from_json_file(detail::path_in(folder, "config.json")));
  const bool tied = model->config.tie_word_embeddings();
  const auto to_model = [tied](const std::string& name) -> std::string {
    if (tied && name == "lm_head.weight") return {};  // a copy of embed_tokens.weight
    return name;
  };
  detail::load_pretrained(model->state_dict(), {"LlamaForCausalLM", to_model, [](const std::string&) { return false; }},
                          folder, options, info);
  model->eval();
  return model;
}

}  // namespace tandem::models
