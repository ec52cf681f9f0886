// Schedules of the learning rate with a warm-up, with the names that Hugging Face's transformers uses.
#pragma once
#include <memory>

#include "tandem/optim/lr_scheduler.h"

namespace tandem::optim {

/// Makes a schedule whose rate rises linearly from 0 to the base rate in num_warmup_steps steps, then falls linearly to
/// 0 at step num_training_steps, where it stays.
/// @throws Error unless 0 <= num_warmup_steps <= num_training_steps
std::unique_ptr<LambdaLR> get_linear_schedule_with_warmup(Optimizer& optimizer, int64_t num_warmup_steps,
                                                          int64_t num_training_steps);
/// Makes a schedule whose rate rises linearly from 0 to the base rate in num_warmup_steps steps, then falls along
/// `num_cycles` cosines: half a cosine, the default, ends at 0 at step num_training_steps.
/// @throws Error unless 0 <= num_warmup_steps <= num_training_steps
std::unique_ptr<LambdaLR> get_cosine_schedule_with_warmup(Optimizer& optimizer, int64_t num_warmup_steps,
                                                          int64_t num_training_steps, double num_cycles = 0.5);
/// Makes a schedule as get_cosine_schedule_with_warmup(), except that the cosine ends at the rate min_lr instead of 0.
/// min_lr is for an optimizer whose parameter groups have the same rate; other groups get the same factor as the first.
/// @throws Error  also unless 0 <= min_lr <= the rate of the first group
std::unique_ptr<LambdaLR> get_cosine_with_min_lr_schedule_with_warmup(Optimizer& optimizer, int64_t num_warmup_steps,
                                                                      int64_t num_training_steps,
                                                                      double num_cycles = 0.5, double min_lr = 0);

}  // namespace tandem::optim
