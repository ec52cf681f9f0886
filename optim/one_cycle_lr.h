// The 1cycle schedule of the learning rate.
#pragma once
#include "tandem/optim/lr_scheduler.h"

namespace tandem::optim {
namespace detail {
/// One number per parameter group, or one for all groups.
struct PerGroup {
  PerGroup(double one) : values{one} {}
  PerGroup(std::initializer_list<double> list) : values(list) {}
  PerGroup(std::vector<double> list) : values(std::move(list)) {}
  std::vector<double> values;
};
}  // namespace detail

/// The 1cycle policy (Smith and Topin 2018, arXiv:1708.07120). The rate rises from max_lr / div_factor to max_lr in the
/// first pct_start of the steps, then falls to max_lr / div_factor / final_div_factor. With three_phase, it first falls
/// back to max_lr / div_factor in as many steps as it rose, and then further. The base rate is max_lr / div_factor; the
/// optimizer's previous rate is ignored. Unless cycle_momentum is false, the momentum (beta1 in optimizers with betas)
/// moves in the opposite direction, from max_momentum to base_momentum and back. Call step() after every batch.
/// @param total_steps      number of steps; by default the product of epochs and steps_per_epoch
/// @param anneal_strategy  "cos" or "linear"
/// @throws Error for an unknown strategy, an unknown number of steps, pct_start outside of 0 to 1, a list with another
/// length than the number of groups, or cycle_momentum with an optimizer without momentum; and in steps after the last
/// one
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, detail::PerGroup max_lr, std::optional<int64_t> total_steps = {},
             std::optional<int64_t> epochs = {}, std::optional<int64_t> steps_per_epoch = {}, double pct_start = 0.3,
             const std::string& anneal_strategy = "cos", bool cycle_momentum = true,
             detail::PerGroup base_momentum = 0.85, detail::PerGroup max_momentum = 0.95, double div_factor = 25,
             double final_div_factor = 1e4, bool three_phase = false);
};

}  // namespace tandem::optim
