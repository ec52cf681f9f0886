// make_transformer_optimizer: AdamW and a schedule with a warm-up, for training transformers.
#pragma once
#include "tandem/core/option.h"
#include "tandem/train/optimizers.h"

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
  /// Fall of the rate after the warm-up, to 0 at the last step: "linear" or "cosine"; "constant": the rate does not
  /// fall.
  TANDEM_ARG(std::string, schedule) = "linear";
  /// Learning rate at which "cosine" ends instead of 0; other schedules accept only 0.
  TANDEM_ARG(double, min_lr) = 0;
  /// Number of steps of the warm-up. The rate rises linearly from 0 in these steps.
  TANDEM_ARG(int64_t, warmup_steps) = 0;
  /// Number of all steps.
  TANDEM_ARG(int64_t, total_steps) = 0;
};
/// Makes AdamW and its schedule for a module's parameters. @throws Error for invalid options
train::Optimizers make_transformer_optimizer(const nn::Module& module, const TransformerTrainingOptions& options);

}  // namespace tandem::models
