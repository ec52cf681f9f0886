// Implements LRScheduler, and the rates of StepLR, MultiStepLR, CosineAnnealingLR and the other schedules.
#include "tandem/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tandem::optim {
namespace {

void check_milestones(const char* op, const std::vector<int64_t>& milestones) {
  for (size_t i = 0; i < milestones.size(); ++i)
    TANDEM_CHECK(milestones[i] > (i == 0 ? 0 : milestones[i - 1]), op,
                 ": milestones must be positive and strictly increasing, got ", IntArrayRef(milestones));
}
size_t num_reached_milestones(const std::vector<int64_t>& milestones, int64_t step) {
  return static_cast<size_t>(std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin());
}

/// Sorts milestones and drops negative ones, which no step reaches.
std::vector<int64_t> sort_milestones(std::vector<int64_t> milestones) {
  std::erase_if(milestones, [](int64_t milestone) { return milestone < 0; });
  std::sort(milestones.begin(), milestones.end());
  return milestones;
}

/// Makes a schedule that sets the rate base * factor(step). In a chain, or if other code changed the rate, multiplies
/// the current rate by factor(step) / factor(step - 1).
LRScheduler::Schedule make_factor_schedule(std::function<double(int64_t)> factor) {
  return {.rate = [factor](int64_t step, double base) { return base * factor(step); },
          .update_rate =
              [factor](int64_t step, double base, double current) {
                const double before = step == 0 ? 1 : factor(step - 1), now = factor(step);
                if (now == before) return current;
                return before == 0 ? base * now : current * (now / before);
              }};
}
/// Makes a schedule that computes each rate from the previous one. Its `rate` computes the rates of all previous steps
/// first.
LRScheduler::Schedule make_recursive_schedule(const LRScheduler::RateUpdate& update_rate) {
  return {.rate =
              [update_rate](int64_t step, double base) {
                double rate = base;
                for (int64_t i = 0; i <= step; ++i) rate = update_rate(i, base, rate);
                return rate;
              },
          .update_rate = update_rate,
          .is_recursive = true};
}
double cosine_anneal(double base, double eta_min, double part) {
  return eta_min + (base - eta_min) * (1 + std::cos(std::numbers::pi * part)) / 2;
}
Optimizer& check_same_optimizer(const std::vector<LRScheduler>& schedulers) {
  TANDEM_CHECK(!schedulers.empty(),
               "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
  for (const LRScheduler& s : schedulers)
    TANDEM_CHECK(&s.optimizer() == &schedulers.front().optimizer(),
                 "ChainedScheduler expects all schedulers to belong to the same optimizer");
  return schedulers.front().optimizer();
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer, Rate rate) : LRScheduler(optimizer, Schedule{std::move(rate)}) {}
LRScheduler::LRScheduler(Optimizer& optimizer, Schedule schedule)
    : optimizer_(optimizer), schedule_(std::move(schedule)) {
  set_rates();
}
void LRScheduler::step() {
  if (schedule_.rate) {
    ++step_count_;
    return set_rates();
  }
  const std::vector<double> rates = get_lrs();
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  TANDEM_CHECK(
      rates.size() == groups.size(),
      "LRScheduler: Number of learning rates not equal to the number of param groups\nNumber of learning rates given: ",
      rates.size(), "\nNumber of param groups: ", groups.size());
  for (size_t i = 0; i < groups.size(); ++i) groups[i].options().set_lr(rates[i]);
  ++step_count_;
}
std::vector<double> LRScheduler::get_lrs() {
  TANDEM_CHECK(schedule_.rate,
               "LRScheduler: this scheduler has no function that computes the rate from the step; override get_lrs(), "
               "or pass one to the constructor");
  std::vector<double> rates;
  for (OptimizerParamGroup& group : optimizer_.param_groups())
    rates.push_back(rate_at(int64_t{step_count_} + 1, group.initial_lr()));
  return rates;
}
double LRScheduler::rate_at(int64_t step, double base) const {
  TANDEM_CHECK(schedule_.rate,
               "LRScheduler: a scheduler that overrides get_lrs() cannot be combined with others; use one of Tandem's "
               "schedulers, or LambdaLR with your function");
  return schedule_.rate(step, base);
}
double LRScheduler::next_rate(int64_t step, double base, double current) const {
  return schedule_.update_rate ? schedule_.update_rate(step, base, current) : rate_at(step, base);
}
void LRScheduler::set_extra_options(int64_t step, size_t group, OptimizerOptions& options) const {
  if (schedule_.extra_options) schedule_.extra_options(step, group, options);
}
void LRScheduler::set_rates() {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    OptimizerOptions& options = groups[i].options();
    const double base = groups[i].initial_lr();
    const double current = step_count_ == 0 ? base : options.get_lr();
    if (schedule_.update_rate && step_count_ > 0 && i < last_lr_.size() && current != last_lr_[i])
      schedule_.is_recursive = true;
    options.set_lr(schedule_.is_recursive ? next_rate(step_count_, base, current) : rate_at(step_count_, base));
    set_extra_options(step_count_, i, options);
  }
  last_lr_ = get_last_lr();
}
std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer, make_factor_schedule([=](int64_t step) {
                    TANDEM_CHECK(step_size > 0, "StepLR: step_size is ", step_size, "; it must be positive");
                    const int64_t decays = step / step_size;
                    return std::pow(gamma, static_cast<double>(decays));
                  })) {}
MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer,
                  make_factor_schedule([milestones = sort_milestones(std::move(milestones)), gamma](int64_t step) {
                    return std::pow(gamma, static_cast<double>(num_reached_milestones(milestones, step)));
                  })) {}
ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : LRScheduler(optimizer,
                  make_factor_schedule([=](int64_t step) { return std::pow(gamma, static_cast<double>(step)); })) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor)
    : LRScheduler(optimizer, [factor = std::move(factor)](int64_t step, double base) { return base * factor(step); }) {}
CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(
          optimizer,
          {.rate =
               [=](int64_t step, double base) {
                 TANDEM_CHECK(T_max > 0, "CosineAnnealingLR: T_max is ", T_max, "; it must be positive");
                 return cosine_anneal(base, eta_min, static_cast<double>(step) / static_cast<double>(T_max));
               },
           .update_rate =
               [=](int64_t step, double base, double current) {
                 const auto height = [&](int64_t at) {  // 1 + cos(pi * at / T_max) falls from 2 to 0
                   return 1 + std::cos(std::numbers::pi * static_cast<double>(at) / static_cast<double>(T_max));
                 };
                 if (step == 0) return current;
                 if ((step - 1 - T_max) % (2 * T_max) == 0)  // the previous rate was eta_min: height(step - 1) is 0
                   return current + (base - eta_min) * height(T_max - 1) / 2;
                 return height(step) / height(step - 1) * (current - eta_min) + eta_min;
               }}) {}
LinearLR::LinearLR(Optimizer& optimizer, double start, double end, int64_t total_iters)
    : LRScheduler(optimizer, make_factor_schedule([=](int64_t step) {
                    TANDEM_CHECK(total_iters > 0, "LinearLR: total_iters is ", total_iters, "; it must be positive");
                    const double done = static_cast<double>(std::min(step, total_iters));
                    return start + (end - start) * (done / static_cast<double>(total_iters));
                  })) {}
CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult,
                                                         double eta_min)
    : LRScheduler(optimizer, [=](int64_t step, double base) {
        TANDEM_CHECK(T_0 > 0, "CosineAnnealingWarmRestarts: Expected positive integer T_0, but got ", T_0);
        TANDEM_CHECK(T_mult > 0, "CosineAnnealingWarmRestarts: Expected integer T_mult >= 1, but got ", T_mult);
        int64_t length = T_0;
        if (T_mult == 1) step %= T_0;
        for (; step >= length; length *= T_mult) step -= length;
        return cosine_anneal(base, eta_min, static_cast<double>(step) / static_cast<double>(length));
      }) {}
ConstantLR::ConstantLR(Optimizer& optimizer, double factor, int64_t total_iters)
    : LRScheduler(optimizer, make_factor_schedule([=](int64_t step) {
                    TANDEM_CHECK(factor > 0 && factor <= 1,
                                 "ConstantLR: Constant multiplicative factor expected to be between 0 and 1. Got ",
                                 factor, "; 1 is accepted, 0 is not");
                    return step < total_iters ? factor : 1;
                  })) {}
PolynomialLR::PolynomialLR(Optimizer& optimizer, int64_t total_iters, double power)
    : LRScheduler(optimizer, make_factor_schedule([=](int64_t step) {
                    TANDEM_CHECK(total_iters > 0, "PolynomialLR: total_iters is ", total_iters,
                                 "; it must be positive");
                    const double done = static_cast<double>(std::min(step, total_iters));
                    return std::pow(1 - done / static_cast<double>(total_iters), power);
                  })) {}
MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, std::function<double(int64_t)> factor)
    : LRScheduler(optimizer,
                  make_recursive_schedule([factor = std::move(factor)](int64_t step, double, double current) {
                    return step == 0 ? current : current * factor(step);
                  })) {}
ChainedScheduler::ChainedScheduler(std::vector<LRScheduler> schedulers)
    : LRScheduler(check_same_optimizer(schedulers), [&] {
        Schedule chain = make_recursive_schedule([schedulers](int64_t step, double base, double current) {
          for (const LRScheduler& s : schedulers) current = s.next_rate(step, base, current);
          return current;
        });
        chain.extra_options = [schedulers](int64_t step, size_t group, OptimizerOptions& options) {
          for (const LRScheduler& s : schedulers) s.set_extra_options(step, group, options);
        };
        return chain;
      }()) {}
SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<LRScheduler> schedules, std::vector<int64_t> milestones)
    : LRScheduler(optimizer, [&] {
        TANDEM_CHECK(schedules.size() == milestones.size() + 1,
                     "SequentialLR: Sequential Schedulers expects number of schedulers provided to be one more than "
                     "the number of milestone points, but got number of schedulers ",
                     schedules.size(), " and the number of milestones to be equal to ", milestones.size());
        check_milestones("SequentialLR", milestones);
        /// Returns the index of the schedule that is active in a step, and the step's number in that schedule.
        const auto at = [milestones](int64_t step) {
          const size_t i = num_reached_milestones(milestones, step);
          return std::pair(i, step - (i == 0 ? 0 : milestones[i - 1]));
        };
        bool is_recursive = false;
        for (const LRScheduler& s : schedules) is_recursive = is_recursive || s.is_recursive();
        return Schedule{.rate =
                            [at, schedules](int64_t step, double base) {
                              const auto [i, own] = at(step);
                              return schedules[i].rate_at(own, base);
                            },
                        .update_rate =
                            [at, schedules](int64_t step, double base, double current) {
                              const auto [i, own] = at(step);
                              return own == 0 ? schedules[i].rate_at(0, base)
                                              : schedules[i].next_rate(own, base, current);
                            },
                        .is_recursive = is_recursive,
                        .extra_options =
                            [at, schedules](int64_t step, size_t group, OptimizerOptions& options) {
                              const auto [i, own] = at(step);
                              schedules[i].set_extra_options(own, group, options);
                            }};
      }()) {}

}  // namespace tandem::optim
