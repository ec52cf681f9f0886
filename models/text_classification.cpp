// Implements TextClassification.
#include "tandem/models/text_classification.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/warmup_schedules.h"

namespace tandem::models {

train::Optimizers make_transformer_optimizer(const nn::Module& module, const TransformerTrainingOptions& o) {
  const bool is_constant = o.schedule() == "constant";
  TANDEM_CHECK(o.schedule() == "linear" || o.schedule() == "cosine" || is_constant,
               "TransformerTrainingOptions: schedule is '", o.schedule(), "'; accepted: linear, cosine, constant");
  auto optimizer = std::make_unique<optim::AdamW>(
      train::weight_decay_groups(module),
      optim::AdamWOptions(o.lr()).betas({o.beta1(), o.beta2()}).weight_decay(o.weight_decay()));
  const int64_t warmup = o.warmup_steps(), total = o.total_steps();
  std::shared_ptr<optim::LRScheduler> schedule;
  if (is_constant)
    schedule = std::make_shared<optim::LambdaLR>(*optimizer, [warmup](int64_t step) {
      return step < warmup ? static_cast<double>(step) / static_cast<double>(warmup) : 1.0;
    });
  else if (o.schedule() == "linear")
    schedule = optim::get_linear_schedule_with_warmup(*optimizer, warmup, total);
  else
    schedule = optim::get_cosine_schedule_with_warmup(*optimizer, warmup, total);
  return train::Optimizers(std::move(optimizer)).schedule(std::move(schedule), "step");
}

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
