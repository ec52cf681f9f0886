// Implements OneCycleLR: the phases of learning rate and momentum, and the position of a step in its phase.
#include "tandem/optim/one_cycle_lr.h"

#include <cmath>
#include <numbers>

namespace tandem::optim {
namespace {

/// Position of a step: index of the phase, and the fraction of the phase that is done.
struct PhasePosition {
  size_t phase;
  double fraction;
};
struct CycleSchedule {
  std::vector<double> phase_ends;  // last step of each phase
  bool is_cosine;

  PhasePosition find_position(int64_t step) const {
    const auto at = static_cast<double>(step), last = phase_ends.back();
    TANDEM_CHECK(at <= last + 1, "OneCycleLR: Tried to step ", step, " times. The specified number of total steps is ",
                 last + 1);
    double start = 0;
    size_t phase = 0;
    for (; phase + 1 < phase_ends.size() && at > phase_ends[phase]; ++phase) start = phase_ends[phase];
    const double length = phase_ends[phase] - start;
    return {phase, length == 0 ? 1 : (at - start) / length};
  }
  double anneal(double start, double end, double fraction) const {
    if (!is_cosine) return (end - start) * fraction + start;
    return end + (start - end) / 2 * (std::cos(std::numbers::pi * fraction) + 1);
  }
};

int64_t get_total_steps(std::optional<int64_t> total_steps, std::optional<int64_t> epochs,
                        std::optional<int64_t> steps_per_epoch) {
  TANDEM_CHECK(total_steps || (epochs && steps_per_epoch),
               "OneCycleLR: You must define either total_steps OR (epochs AND steps_per_epoch)");
  const auto checked = [](const char* name, int64_t value) {
    TANDEM_CHECK(value > 0, "OneCycleLR: Expected positive integer ", name, ", but got ", value);
    return value;
  };
  if (total_steps) return checked("total_steps", *total_steps);
  return checked("epochs", *epochs) * checked("steps_per_epoch", *steps_per_epoch);
}
std::vector<double> expand_to_groups(const char* name, const detail::PerGroup& given, size_t groups) {
  if (given.values.size() == 1) return std::vector<double>(groups, given.values[0]);
  TANDEM_CHECK(given.values.size() == groups, "OneCycleLR: ", name,
               " must have the same length as optimizer.param_groups. ", name, " has ", given.values.size(),
               " values, param_groups has ", groups, ". One value for all groups is accepted too");
  return given.values;
}
/// Sets the option "momentum" or "beta1". @return whether the optimizer has one of them
bool set_momentum(OptimizerOptions& options, double momentum) {
  bool found = false;
  options.visit_options([&](const std::string& name, std::variant<double*, bool*> setting) {
    if (name != "momentum" && name != "beta1") return;
    *std::get<double*>(setting) = momentum;
    found = true;
  });
  return found;
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, detail::PerGroup max_lr, std::optional<int64_t> total_steps,
                       std::optional<int64_t> epochs, std::optional<int64_t> steps_per_epoch, double pct_start,
                       const std::string& anneal_strategy, bool cycle_momentum, detail::PerGroup base_momentum,
                       detail::PerGroup max_momentum, double div_factor, double final_div_factor, bool three_phase)
    : LRScheduler(optimizer, [&] {
        std::vector<OptimizerParamGroup>& groups = optimizer.param_groups();
        const auto steps = static_cast<double>(get_total_steps(total_steps, epochs, steps_per_epoch));
        TANDEM_CHECK(pct_start >= 0 && pct_start <= 1, "OneCycleLR: Expected float between 0 and 1 pct_start, but got ",
                     pct_start, "; 0 and 1 are accepted");
        TANDEM_CHECK(anneal_strategy == "cos" || anneal_strategy == "linear",
                     "OneCycleLR: anneal_strategy must be one of 'cos' or 'linear', instead got ", anneal_strategy);
        const std::vector<double> highest = expand_to_groups("max_lr", max_lr, groups.size());
        const std::vector<double> low = expand_to_groups("base_momentum", base_momentum, groups.size());
        const std::vector<double> high = expand_to_groups("max_momentum", max_momentum, groups.size());
        if (cycle_momentum) {
          const std::unique_ptr<OptimizerOptions> trial = groups.front().options().clone();
          TANDEM_CHECK(set_momentum(*trial, 0),
                       "OneCycleLR: optimizer must support momentum or beta1 with `cycle_momentum` option enabled");
        }
        for (size_t i = 0; i < groups.size(); ++i) groups[i].set_initial_lr(highest[i] / div_factor);

        CycleSchedule cycle{{pct_start * steps - 1}, anneal_strategy == "cos"};
        if (three_phase) cycle.phase_ends.push_back(2 * pct_start * steps - 2);
        cycle.phase_ends.push_back(steps - 1);
        Schedule schedule;
        schedule.rate = [=](int64_t step, double base) {
          const double peak = base * div_factor, bottom = base / final_div_factor;
          const auto [phase, fraction] = cycle.find_position(step);
          if (phase == 0) return cycle.anneal(base, peak, fraction);
          if (!three_phase) return cycle.anneal(peak, bottom, fraction);
          return phase == 1 ? cycle.anneal(peak, base, fraction) : cycle.anneal(base, bottom, fraction);
        };
        if (cycle_momentum)
          schedule.extra_options = [=](int64_t step, size_t i, OptimizerOptions& options) {
            TANDEM_CHECK(i < low.size(),
                         "OneCycleLR: a parameter group was added to the optimizer after the scheduler was "
                         "constructed; add all groups first");
            const auto [phase, fraction] = cycle.find_position(step);
            set_momentum(options, phase == 0   ? cycle.anneal(high[i], low[i], fraction)
                                  : phase == 1 ? cycle.anneal(low[i], high[i], fraction)
                                               : high[i]);
          };
        return schedule;
      }()) {}

}  // namespace tandem::optim
