// Implements LanguageModeling.
#include "tandem/models/language_modeling.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::models {

LanguageModeling::LanguageModeling(GptModel model, TransformerTrainingOptions options) : options_(std::move(options)) {
  this->model = register_module("model", std::move(model));
}
void LanguageModeling::reset() {  // called for copies
  model = register_module("model", GptModel(model->config));
}
Tensor LanguageModeling::forward(const data::Example<>& batch) { return model(batch.data); }
Tensor LanguageModeling::loss(const Tensor& logits, const data::Example<>& batch) {
  return cross_entropy(logits.reshape({-1, logits.size(-1)}), batch.target.reshape({-1}));
}

double flops_per_token(const GptModelImpl& model, int64_t length) {
  double parameters = -static_cast<double>(model.wpe->weight.numel());
  for (const Tensor& p : model.parameters()) parameters += static_cast<double>(p.numel());
  const GptConfig& c = model.config;
  return 6 * parameters +
         12.0 * static_cast<double>(c.n_layer()) * static_cast<double>(c.n_embd()) * static_cast<double>(length);
}

}  // namespace tandem::models
