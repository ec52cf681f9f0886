// TextClassification: fine-tunes a BertForSequenceClassification on batches of encoded texts, for the Trainer.
#pragma once
#include "tandem/models/bert_for_sequence_classification.h"
#include "tandem/text/encoded_texts.h"
#include "tandem/train/metrics/confusion_matrix.h"
#include "tandem/train/metrics/stat_scores.h"
#include "tandem/train/training_module.h"

namespace tandem::models {

/// Options of the training steps of a transformer: AdamW, and a schedule with a warm-up.
struct TransformerTrainingOptions {
  /// Learning rate after the warm-up.
  TANDEM_ARG(double, lr) = 2e-5;
  /// Weight decay of parameters of two or more dimensions; biases and the weights of a LayerNorm have none.
  TANDEM_ARG(double, weight_decay) = 0.01;
  /// Decay factors of AdamW's running means.
  TANDEM_ARG(double, beta1) = 0.9;
  TANDEM_ARG(double, beta2) = 0.999;
  /// How the rate falls after the warm-up, to 0 at the last step: "linear" or "cosine"; "constant": it does not fall.
  TANDEM_ARG(std::string, schedule) = "linear";
  /// Number of steps of the warm-up, in which the rate rises linearly, and of all steps.
  TANDEM_ARG(int64_t, warmup_steps) = 0;
  TANDEM_ARG(int64_t, total_steps) = 0;
};
/// Makes AdamW and its schedule for a module's parameters. @throws Error for invalid options
train::Optimizers make_transformer_optimizer(const nn::Module& module, const TransformerTrainingOptions& options);

/// A classifier of texts as the Trainer takes it. Its data source makes batches of type text::TextBatch. In validation
/// it logs "val_loss" and "val_accuracy", and registers the confusion matrix "val_confusion".
class TextClassification : public train::TrainingModule<TextClassification, text::TextBatch> {
 public:
  /// @param model  the model to train, which this module shares
  TextClassification(BertForSequenceClassification model, TransformerTrainingOptions options);
  void reset() override;
  /// Returns the logits (N, num_labels).
  Tensor forward(const text::TextBatch& batch) override;
  /// Returns the model's mean loss. @throws Error if a label is not known
  Tensor loss(const Tensor& logits, const text::TextBatch& batch) override;
  void validation_step(const text::TextBatch& batch) override;
  train::Optimizers configure_optimizers() override { return make_transformer_optimizer(*this, options_); }
  BertForSequenceClassification model{nullptr};

 private:
  void register_metrics();
  TransformerTrainingOptions options_;
  std::shared_ptr<metrics::Accuracy> accuracy_;
  std::shared_ptr<metrics::ConfusionMatrix> confusion_;
};

}  // namespace tandem::models
