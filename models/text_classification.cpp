// Implements TextClassification.
#include "tandem/models/text_classification.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::models {

TextClassification::TextClassification(BertForSequenceClassification model, TransformerTrainingOptions options)
    : options_(std::move(options)) {
  this->model = register_module("model", std::move(model));
  register_metrics();
}
void TextClassification::reset() {  // called for copies
  model = register_module("model", BertForSequenceClassification(model->config));
  register_metrics();
}
void TextClassification::register_metrics() {
  const int64_t labels = model->config.num_labels();
  accuracy_ = std::make_shared<metrics::Accuracy>(metrics::AccuracyOptions("multiclass").num_classes(labels));
  confusion_ =
      std::make_shared<metrics::ConfusionMatrix>(metrics::ConfusionMatrixOptions("multiclass").num_classes(labels));
  register_metric("val_accuracy", *accuracy_);
  register_metric("val_confusion", *confusion_);
}

Tensor TextClassification::forward(const text::TextBatch& batch) {
  return model->forward(batch.input_ids, batch.attention_mask, batch.token_type_ids).logits;
}
Tensor TextClassification::loss(const Tensor& logits, const text::TextBatch& batch) {
  return model->compute_loss(logits, batch.labels);
}
void TextClassification::validation_step(const text::TextBatch& batch) {
  const Tensor logits = tandem::detail::call_module(*this, batch);
  log("val_loss", loss(logits, batch));
  const Tensor scores = logits.to(kFloat32);
  accuracy_->update(scores, batch.labels);
  confusion_->update(scores, batch.labels);
}

}  // namespace tandem::models
