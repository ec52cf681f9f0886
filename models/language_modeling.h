// LanguageModeling: trains a GptModel on windows of tokens, for the Trainer.
#pragma once
#include "tandem/models/gpt.h"
#include "tandem/models/transformer_training.h"
#include "tandem/train/training_module.h"

namespace tandem::models {

/// A GptModel as the Trainer takes it. text::TokenWindows makes the batches: data and target int64 (N, L), where the
/// target is the token that follows each position. In validation it logs "val_loss", in nats per token.
class LanguageModeling : public train::TrainingModule<LanguageModeling> {
 public:
  /// @param model  the model to train, which this module shares
  LanguageModeling(GptModel model, TransformerTrainingOptions options);
  void reset() override;
  /// Returns the logits (N, L, vocab_size).
  Tensor forward(const data::Example<>& batch) override;
  /// Returns the mean cross-entropy over all positions.
  Tensor loss(const Tensor& logits, const data::Example<>& batch) override;
  train::Optimizers configure_optimizers() override { return make_transformer_optimizer(*this, options_); }
  GptModel model{nullptr};

 private:
  TransformerTrainingOptions options_;
};

/// Returns the number of floating-point operations of the forward and the backward of one token, as Chowdhery et al.
/// 2022 (arXiv:2204.02311) count them: 6 N + 12 L d T. N is the number of parameters without the embeddings of
/// positions, L the number of layers, d n_embd, and T the number of tokens of a text, `length`.
double flops_per_token(const GptModelImpl& model, int64_t length);

}  // namespace tandem::models
