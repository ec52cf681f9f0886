// Compares generate() of a model with fixtures/generation.json.
#pragma once
#include "tandem/models/generation.h"
#include "tandem/tests/nn/module_rows.h"

namespace tandem::test {

/// Sets the parameters to the values of make_generation_fixtures.py, in float64, and selects evaluation mode.
template <class Model> Model with_formula_weights(Model model) {
  model->to(kFloat64);
  nn::NamedParameters state;
  uint32_t salt = 1000;
  for (const auto& item : model->state_dict()) {
    const std::string& key = item.key();
    const bool is_weight = key.size() > 6 && key.compare(key.size() - 6, 6, "weight") == 0;
    const double lo = item->dim() > 1 ? -1 : is_weight ? 0.5 : -0.1, hi = item->dim() > 1 ? 1 : is_weight ? 1.5 : 0.1;
    state.insert(key, tensor_of(real(item->sizes().vec(), lo, hi), salt++));
  }
  model->load_state_dict(state);
  model->eval();
  return model;
}
inline models::GenerationOptions options_of(const nlohmann::json& row) {
  models::GenerationOptions o;
  const nlohmann::json& given = row.at("options");
  o.temperature(given.value("temperature", 1.0)).top_k(given.value("top_k", 50)).top_p(given.value("top_p", 1.0));
  o.max_new_tokens(given.value("max_new_tokens", 12)).pad_token_id(0);
  if (given.contains("eos_token_id")) o.eos_token_id(given.at("eos_token_id").get<std::vector<int64_t>>());
  return o;
}
inline Tensor ids_of(const nlohmann::json& rows) {
  std::vector<int64_t> flat;
  for (const auto& row : rows)
    for (const int64_t id : row) flat.push_back(id);
  return tensor(flat).reshape({static_cast<int64_t>(rows.size()), -1});
}
/// Compares greedy tokens with those of all rows of the fixture with this name, with a cache and without.
template <class Model> void check_generated(const char* name, Model model) {
  int found = 0;
  const nlohmann::json all = read_json("generation.json").at("rows");
  for (const auto& row : all) {
    if (row.at("name") != name) continue;
    ++found;
    const Tensor ids = tensor_of(spec_of(row.at("input")), 1), mask = ids_of(row.at("mask"));
    for (const bool use_cache : {true, false}) {
      INFO(name << " " << found << (use_cache ? " with a cache" : ""));
      const Tensor tokens = model->generate(ids, options_of(row).use_cache(use_cache), mask);
      CAPTURE(tokens);
      CHECK(tokens.equal(ids_of(row.at("tokens"))));
    }
  }
  CHECK(found == 3);
}

}  // namespace tandem::test
