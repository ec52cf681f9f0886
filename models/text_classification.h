// TextClassification: fine-tunes a BertForSequenceClassification on batches of encoded texts, for the Trainer.
#pragma once
#include "tandem/models/bert_for_sequence_classification.h"
#include "tandem/models/transformer_training.h"
#include "tandem/text/encoded_texts.h"
#include "tandem/train/metrics/confusion_matrix.h"
#include "tandem/train/metrics/stat_scores.h"
#include "tandem/train/training_module.h"

namespace tandem::models {

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
  /// The model that is trained.
  BertForSequenceClassification model{nullptr};

 private:
  void register_metrics();
  TransformerTrainingOptions options_;
  std::shared_ptr<metrics::Accuracy> accuracy_;
  std::shared_ptr<metrics::ConfusionMatrix> confusion_;
};

}  // namespace tandem::models
