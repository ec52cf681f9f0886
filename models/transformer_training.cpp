// Implements make_transformer_optimizer().
#include "tandem/models/transformer_training.h"

#include "tandem/core/error.h"
#include "tandem/optim/adam.h"
#include "tandem/optim/warmup_schedules.h"

namespace tandem::models {

train::Optimizers make_transformer_optimizer(const nn::Module& module, const TransformerTrainingOptions& o) {
  const bool is_constant = o.schedule() == "constant";
  TANDEM_CHECK(o.schedule() == "linear" || o.schedule() == "cosine" || is_constant,
               "TransformerTrainingOptions: schedule is '", o.schedule(), "'; accepted: linear, cosine, constant");
  TANDEM_CHECK(o.min_lr() == 0 || (o.schedule() == "cosine" && o.min_lr() > 0 && o.min_lr() <= o.lr()),
               "TransformerTrainingOptions: min_lr is ", o.min_lr(), " with lr ", o.lr(), " and schedule '",
               o.schedule(), "'; accepted: 0, and with cosine from 0 to lr");
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
    schedule = optim::get_cosine_with_min_lr_schedule_with_warmup(*optimizer, warmup, total, 0.5, o.min_lr());
  return train::Optimizers(std::move(optimizer)).schedule(std::move(schedule), "step");
}

}  // namespace tandem::models
