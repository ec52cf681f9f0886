// Implements LanguageModeling.
#include "tandem/models/language_modeling.h"

#include "tandem/ops/ops.h"

namespace tandem::models {

LanguageModeling::LanguageModeling(GptModel model, TransformerTrainingOptions options) : options_(std::move(options)) {
  this->model = register_module("model", std::move(model));
}
void LanguageModeling::reset() {  // called for copies
  model = register_module("model", GptModel(model->config));
}
Tensor LanguageModeling::forward(const data::Example<>& batch) { return model->forward(batch.data); }
Tensor LanguageModeling::loss(const Tensor& logits, const data::Example<>& batch) {
  return cross_entropy(logits.flatten(0, 1), batch.target.flatten());
}

double flops_per_token(const GptModel& model, int64_t block_size) {
  int64_t parameters = -model->wpe->weight.numel();
  for (const Tensor& parameter : model->parameters()) parameters += parameter.numel();
  const GptConfig& c = model->config;
  return 6.0 * static_cast<double>(parameters) +
         12.0 * static_cast<double>(c.n_layer()) * static_cast<double>(c.n_embd()) * static_cast<double>(block_size);
}

}  // namespace tandem::models
