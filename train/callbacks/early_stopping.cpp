// Implements EarlyStopping.
#include "tandem/train/callbacks/early_stopping.h"

#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/serialize/archive.h"

namespace tandem::train {

EarlyStopping::EarlyStopping(EarlyStoppingOptions options) : options_(std::move(options)) {
  TANDEM_CHECK(options_.mode() == "min" || options_.mode() == "max", "EarlyStopping: mode is '", options_.mode(),
               "'; accepted: min, max");
  TANDEM_CHECK(options_.patience() >= 0, "EarlyStopping: patience is ", options_.patience(), "; accepted: 0 or more");
  TANDEM_CHECK(std::isfinite(options_.min_delta()) && options_.min_delta() >= 0, "EarlyStopping: min_delta is ",
               options_.min_delta(), "; accepted: 0 or more");
}

// Metrics of an epoch get their values after its last validation.
void EarlyStopping::on_validation_end(Fit& fit) {
  if (!options_.monitor().ends_with("_epoch")) check(fit);
}
void EarlyStopping::on_train_epoch_end(Fit& fit) {
  if (options_.monitor().ends_with("_epoch")) check(fit);
}

void EarlyStopping::check(Fit& fit) {
  const double value = fit.metric(options_.monitor(), "EarlyStopping");
  const double sign = options_.mode() == "max" ? -1 : 1;
  if (!best_ || sign * value < sign * *best_ - options_.min_delta()) {
    best_ = value;
    wait_count_ = 0;
  } else {
    ++wait_count_;
  }
  const bool diverges = options_.check_finite() && !std::isfinite(value);
  if (wait_count_ < std::max<int64_t>(options_.patience(), 1) && !diverges) return;
  stopped_epoch_ = fit.epoch();
  fit.stop();
}

void EarlyStopping::save(serialize::OutputArchive& archive) const {
  archive.write("wait_count", IValue(wait_count_));
  if (best_) archive.write("best", IValue(*best_));
}
void EarlyStopping::load(serialize::InputArchive& archive) {
  IValue wait_count, best;
  archive.read("wait_count", wait_count);
  wait_count_ = wait_count.toInt();
  best_.reset();
  if (archive.try_read("best", best)) best_ = best.toDouble();
  stopped_epoch_.reset();
}

}  // namespace tandem::train
