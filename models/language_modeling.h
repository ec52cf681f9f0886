// LanguageModeling: pre-trains a GptModel on windows of a corpus, for the Trainer.
#pragma once
#include "tandem/models/gpt.h"
#include "tandem/models/transformer_training.h"
#include "tandem/train/training_module.h"

namespace tandem::models {

/// A GPT as the Trainer takes it. Its data source makes batches as text::TokenWindows does: `data` (N, L) int64 has
/// tokens, and `target` (N, L) int64 the token that follows each of them. In validation it logs "val_loss", the mean
/// cross-entropy in nats per token.
class LanguageModeling : public train::TrainingModule<LanguageModeling> {
 public:
  /// @param model  the model to train, which this module shares
  LanguageModeling(GptModel model, TransformerTrainingOptions options);
  void reset() override;
  /// Returns the logits (N, L, vocab_size).
  Tensor forward(const data::Example<>& batch) override;
  /// Returns the mean cross-entropy over all tokens of the batch.
  Tensor loss(const Tensor& logits, const data::Example<>& batch) override;
  train::Optimizers configure_optimizers() override { return make_transformer_optimizer(*this, options_); }
  /// The model that is trained.
  GptModel model{nullptr};

 private:
  TransformerTrainingOptions options_;
};

/// Returns the floating-point operations of the forward and the backward of a token, as they are counted for the model
/// FLOPs utilisation of Chowdhery et al. 2022 (arXiv:2204.02311): 6 N + 12 * n_layer * n_embd * block_size. N is the
/// number of parameters without the position embeddings.
/// @param block_size  number of tokens of a text
double flops_per_token(const GptModel& model, int64_t block_size);

}  // namespace tandem::models
