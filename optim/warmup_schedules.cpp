// Implements the schedules with a warm-up by LambdaLR.
#include "tandem/optim/warmup_schedules.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.h"

namespace tandem::optim {
namespace {

/// Returns a schedule whose factor after the warm-up is decay(steps since then, steps until the end, steps of both).
template <class Decay>
std::unique_ptr<LambdaLR> make_schedule(const char* name, Optimizer& optimizer, int64_t warmup, int64_t all,
                                        const Decay& decay) {
  TANDEM_CHECK(warmup >= 0 && warmup <= all, name, ": num_warmup_steps is ", warmup, " and num_training_steps is ", all,
               "; accepted: 0 <= num_warmup_steps <= num_training_steps");
  return std::make_unique<LambdaLR>(optimizer, [=](int64_t step) {
    if (step < warmup) return static_cast<double>(step) / static_cast<double>(warmup);
    return decay(static_cast<double>(step - warmup), static_cast<double>(all - step),
                 static_cast<double>(std::max<int64_t>(all - warmup, 1)));
  });
}

/// Returns a factor from 1 to 0 along `num_cycles` cosines, where `progress` runs from 0 to 1.
double cosine_factor(double num_cycles, double progress) {
  constexpr double kPi = 3.14159265358979323846;
  return std::max(0.0, 0.5 * (1 + std::cos(2 * kPi * num_cycles * progress)));
}

}  // namespace

std::unique_ptr<LambdaLR> get_linear_schedule_with_warmup(Optimizer& optimizer, int64_t num_warmup_steps,
                                                          int64_t num_training_steps) {
  return make_schedule("get_linear_schedule_with_warmup", optimizer, num_warmup_steps, num_training_steps,
                       [](double, double left, double steps) { return std::max(0.0, left / steps); });
}
std::unique_ptr<LambdaLR> get_cosine_schedule_with_warmup(Optimizer& optimizer, int64_t num_warmup_steps,
                                                          int64_t num_training_steps, double num_cycles) {
  return make_schedule("get_cosine_schedule_with_warmup", optimizer, num_warmup_steps, num_training_steps,
                       [=](double done, double, double steps) { return cosine_factor(num_cycles, done / steps); });
}
std::unique_ptr<LambdaLR> get_cosine_with_min_lr_schedule_with_warmup(Optimizer& optimizer, int64_t num_warmup_steps,
                                                                      int64_t num_training_steps, double num_cycles,
                                                                      double min_lr) {
  const char* const name = "get_cosine_with_min_lr_schedule_with_warmup";
  const double lr = optimizer.param_groups().at(0).options().get_lr();
  TANDEM_CHECK(min_lr >= 0 && min_lr <= lr, name, ": min_lr is ", min_lr, "; accepted: from 0 to the rate ", lr);
  const double least = lr > 0 ? min_lr / lr : 0;
  return make_schedule(name, optimizer, num_warmup_steps, num_training_steps, [=](double done, double, double steps) {
    return least + (1 - least) * cosine_factor(num_cycles, done / steps);
  });
}

}  // namespace tandem::optim
