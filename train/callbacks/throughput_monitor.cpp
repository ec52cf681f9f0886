// Implements ThroughputMonitor.
#include "tandem/train/callbacks/throughput_monitor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tandem/core/internal.h"
#include "tandem/train/trainer_options.h"

namespace tandem::train {
namespace {

std::string format_duration(double seconds) {
  const auto s = static_cast<long long>(std::llround(std::max(seconds, 0.0)));
  char text[48];
  std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  return text;
}
std::string format_number(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  return text;
}
int64_t batches_so_far(const Fit& fit) { return fit.epoch() * fit.num_batches() + fit.batches_done(); }
/// Returns the number of batches of the whole training; 0 if it is not known.
int64_t all_batches(const Fit& fit) {
  const TrainerOptions& o = fit.options();
  int64_t all = o.max_epochs().value_or(-1) > 0 ? *o.max_epochs() * fit.num_batches() : 0;
  const int64_t by_steps = o.max_steps() > 0 ? o.max_steps() * o.accumulate_grad_batches() : 0;
  if (by_steps > 0) all = all > 0 ? std::min(all, by_steps) : by_steps;
  return all;
}

}  // namespace

void ThroughputMonitor::on_train_start(Fit& fit) {
  train_start_ = last_line_ = last_report_ = Clock::now();
  first_batch_ = batches_so_far(fit);
}
void ThroughputMonitor::on_validation_start(Fit&) { validation_start_ = Clock::now(); }
void ThroughputMonitor::on_validation_end(Fit&) { last_report_ += Clock::now() - validation_start_; }

void ThroughputMonitor::on_train_batch_end(Fit& fit, int64_t) {
  if (fit.rank() != 0) return;
  ++batches_;
  const TrainerOptions& o = fit.options();
  const int64_t per_report = o.log_every_n_steps() * o.accumulate_grad_batches();
  if (batches_ < per_report) return;
  const Clock::time_point now = Clock::now();
  const double since_report = std::chrono::duration<double>(now - last_report_).count();
  items_per_second_ = static_cast<double>(batches_) * options_.items_per_batch() / std::max(since_report, 1e-9);
  batches_ = 0;
  last_report_ = now;
  std::vector<std::pair<std::string, double>> values = {{"lr", fit.optimizer().param_groups().at(0).options().get_lr()},
                                                        {options_.item() + "_per_second", items_per_second_}};
  if (options_.flops_per_item() > 0 && options_.peak_flops() > 0)
    values.emplace_back("model_flops_utilization",
                        items_per_second_ * options_.flops_per_item() / options_.peak_flops());
  for (const Logger& logger : o.loggers()) logger(fit.global_step(), values);
  if (std::chrono::duration<double>(now - last_line_).count() < options_.seconds_per_line()) return;
  last_line_ = now;
  std::string line = "step " + std::to_string(fit.global_step());
  const int64_t all = all_batches(fit), done = batches_so_far(fit);
  if (all > 0) line += " of " + std::to_string((all + o.accumulate_grad_batches() - 1) / o.accumulate_grad_batches());
  line += ":";
  if (fit.metrics().contains("train_loss"))
    line += " train_loss " + format_number(fit.metrics().at("train_loss"), 4) + ",";
  line += " lr " + format_number(values[0].second, 3) + ", " + format_number(items_per_second_, 4) + " " +
          options_.item() + "/s";
  if (values.size() > 2) line += ", " + format_number(100 * values[2].second, 3) + " % of the peak";
  const double seconds = std::chrono::duration<double>(now - train_start_).count();
  if (all > 0)
    line += ", " +
            format_duration(seconds / static_cast<double>(std::max<int64_t>(done - first_batch_, 1)) *
                            static_cast<double>(std::max<int64_t>(all - done, 0))) +
            " left";
  if (options_.print())
    options_.print()(line);
  else
    std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace tandem::train
