// Implements ProgressBar.
#include "tandem/train/callbacks/progress_bar.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "tandem/core/internal.h"
#include "tandem/data/progress.h"
#include "tandem/train/trainer_options.h"

namespace tandem::train {
namespace {

std::string epoch_label(const Fit& fit) {
  const std::optional<int64_t>& all = fit.options().max_epochs();
  std::string label("epoch ");
  label.append(std::to_string(fit.epoch() + 1));
  if (all && *all > 0) label.append("/").append(std::to_string(*all));
  return label;
}
/// Returns "train_loss 0.3125, val_loss 0.4": the metrics that `wanted` accepts.
std::string format_metrics(const Fit& fit, const std::function<bool(const std::string&)>& wanted) {
  std::string text;
  for (const auto& [name, value] : fit.metrics()) {
    if (!wanted(name)) continue;
    char number[32];
    std::snprintf(number, sizeof number, "%.4g", value);
    text += (text.empty() ? "" : ", ") + name + " " + number;
  }
  return text;
}

}  // namespace

void ProgressBar::on_train_epoch_start(Fit&) {
  epoch_start_ = Clock::now();
  first_batch_ = 0;
}

void ProgressBar::on_train_batch_end(Fit& fit, int64_t batch_index) {
  if (first_batch_ < 0) {  // the epoch was continued from a checkpoint
    epoch_start_ = Clock::now();
    first_batch_ = batch_index;
  }
  static const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  const Clock::time_point now = Clock::now();
  if (!is_terminal || now - last_draw_ < std::chrono::milliseconds(100)) return;
  last_draw_ = now;
  const std::string metrics = format_metrics(fit, [](const std::string& name) { return !name.ends_with("_epoch"); });
  const std::string line =
      data::format_progress_line(epoch_label(fit), static_cast<size_t>(batch_index + 1 - first_batch_),
                                 static_cast<size_t>(fit.num_batches() - first_batch_),
                                 std::chrono::duration<double>(now - epoch_start_).count(), metrics, 100);
  std::fprintf(stderr, "\r%s\033[K", line.c_str());
  std::fflush(stderr);
}

void ProgressBar::on_train_epoch_end(Fit& fit) {
  const double seconds = std::chrono::duration<double>(Clock::now() - epoch_start_).count();
  const std::string metrics = format_metrics(fit, [&fit](const std::string& name) {
    return name.ends_with("_epoch") || !fit.metrics().contains(name + "_epoch");
  });
  const auto batches = static_cast<double>(fit.num_batches() - std::max<int64_t>(first_batch_, 0));
  const double rate = batches / std::max(seconds, 1e-9);
  static const bool is_terminal = ::isatty(STDERR_FILENO) == 1;
  std::fprintf(stderr, "%s%s: %s, %lld steps, %.1f s, %.*f batches/s%s\n", is_terminal ? "\r" : "",
               epoch_label(fit).c_str(), metrics.c_str(), static_cast<long long>(fit.global_step()), seconds,
               rate >= 10 ? 0 : 2, rate, is_terminal ? "\033[K" : "");
  first_batch_ = 0;
}

}  // namespace tandem::train
