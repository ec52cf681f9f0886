#include "tandem/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tandem::optim {
namespace {

void check_milestones(const char* op, const std::vector<int64_t>& milestones) {
  for (size_t i = 0; i < milestones.size(); ++i)
    TANDEM_CHECK(milestones[i] > (i == 0 ? 0 : milestones[i - 1]), op, ": milestones are ", IntArrayRef(milestones),
                 "; each must be above the one before it, the first above 0");
}
size_t reached(const std::vector<int64_t>& milestones, int64_t step) {
  return static_cast<size_t>(std::upper_bound(milestones.begin(), milestones.end(), step) - milestones.begin());
}

/// In order, without those that no step reaches.
std::vector<int64_t> sorted(std::vector<int64_t> milestones) {
  std::erase_if(milestones, [](int64_t milestone) { return milestone < 0; });
  std::sort(milestones.begin(), milestones.end());
  return milestones;
}

}  // namespace

LRScheduler::LRScheduler(Optimizer& optimizer, Rate rate) : optimizer_(optimizer), rate_(std::move(rate)) {
  set_rates();
}
void LRScheduler::step() {
  ++step_;
  set_rates();
}
void LRScheduler::set_rates() {
  for (OptimizerParamGroup& group : optimizer_.param_groups()) group.options().set_lr(rate_(step_, group.initial_lr()));
}
std::vector<double> LRScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

StepLR::StepLR(Optimizer& optimizer, int64_t step_size, double gamma)
    : LRScheduler(optimizer, [=](int64_t step, double base) {
        TANDEM_CHECK(step_size > 0, "StepLR: step_size is ", step_size, "; it must be positive");
        const int64_t decays = step / step_size;
        return base * std::pow(gamma, static_cast<double>(decays));
      }) {}
MultiStepLR::MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma)
    : LRScheduler(optimizer, [milestones = sorted(std::move(milestones)), gamma](int64_t step, double base) {
        return base * std::pow(gamma, static_cast<double>(reached(milestones, step)));
      }) {}
ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma)
    : LRScheduler(optimizer,
                  [=](int64_t step, double base) { return base * std::pow(gamma, static_cast<double>(step)); }) {}
LambdaLR::LambdaLR(Optimizer& optimizer, std::function<double(int64_t)> factor)
    : LRScheduler(optimizer, [factor = std::move(factor)](int64_t step, double base) { return base * factor(step); }) {}
CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min)
    : LRScheduler(optimizer, [=](int64_t step, double base) {
        TANDEM_CHECK(T_max > 0, "CosineAnnealingLR: T_max is ", T_max, "; it must be positive");
        const double turn = std::numbers::pi * static_cast<double>(step) / static_cast<double>(T_max);
        return eta_min + (base - eta_min) * (1 + std::cos(turn)) / 2;
      }) {}
LinearLR::LinearLR(Optimizer& optimizer, double start, double end, int64_t total_iters)
    : LRScheduler(optimizer, [=](int64_t step, double base) {
        TANDEM_CHECK(total_iters > 0, "LinearLR: total_iters is ", total_iters, "; it must be positive");
        const double part = static_cast<double>(std::min(step, total_iters)) / static_cast<double>(total_iters);
        return base * (start + (end - start) * part);
      }) {}
SequentialLR::SequentialLR(Optimizer& optimizer, std::vector<LRScheduler> schedules, std::vector<int64_t> milestones)
    : LRScheduler(optimizer, [schedules, milestones](int64_t step, double base) {
        TANDEM_CHECK(schedules.size() == milestones.size() + 1, "SequentialLR: ", schedules.size(), " schedules and ",
                     milestones.size(), " milestones; there must be one milestone fewer");
        const size_t i = reached(milestones, step);
        return schedules[i].rate_at(step - (i == 0 ? 0 : milestones[i - 1]), base);
      }) {
  check_milestones("SequentialLR", milestones);
}

}  // namespace tandem::optim
