// The 1cycle schedule.
#pragma once
#include "tandem/optim/lr_scheduler.h"

namespace tandem::optim {
namespace detail {
/// A number for each parameter group, or one for all.
struct PerGroup {
  PerGroup(double one) : values{one} {}
  PerGroup(std::initializer_list<double> list) : values(list) {}
  PerGroup(std::vector<double> list) : values(std::move(list)) {}
  std::vector<double> values;
};
}  // namespace detail

/// Up and down once (Smith and Topin 2018, arXiv:1708.07120): the rate rises from max_lr / div_factor to max_lr in the
/// first pct_start of the steps, then falls to max_lr / div_factor / final_div_factor; with three_phase it is back
/// where it began as many steps later, and falls on from there. Its base is max_lr / div_factor, whatever the
/// optimizer's rate was. Momentum (beta1 of those that have betas) goes the other way, from max_momentum to
/// base_momentum and back, unless cycle_momentum is false. To be stepped after every batch.
/// @param total_steps  or else epochs and steps_per_epoch, which are multiplied
/// @param anneal_strategy  "cos" or "linear"
/// @throws Error for other strategies, no number of steps, pct_start outside of 0 to 1, lists that are not as long as
/// there are groups, an optimizer without momentum whose momentum is to be cycled; and from a step after the last
class OneCycleLR : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, detail::PerGroup max_lr, std::optional<int64_t> total_steps = {},
             std::optional<int64_t> epochs = {}, std::optional<int64_t> steps_per_epoch = {}, double pct_start = 0.3,
             const std::string& anneal_strategy = "cos", bool cycle_momentum = true,
             detail::PerGroup base_momentum = 0.85, detail::PerGroup max_momentum = 0.95, double div_factor = 25,
             double final_div_factor = 1e4, bool three_phase = false);
};

}  // namespace tandem::optim
