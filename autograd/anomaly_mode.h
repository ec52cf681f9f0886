// Anomaly mode: what goes wrong in a backward is traced to where the forward made the node.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/rank_context.h"

namespace tandem::autograd {

/// Whether this thread, and backwards that it calls, trace what goes wrong in backward: each node notes where in the
/// program it was made, an error of its backward says that, and with `check_nan` a gradient that holds NaN is an error.
/// Slow: for finding a fault.
struct AnomalyMode {
  /// Whether it is on.
  static bool is_enabled() { return tandem::detail::RankContext::current().anomaly_mode; }
  /// Whether a gradient that holds NaN is an error.
  static bool should_check_nan() { return tandem::detail::RankContext::current().anomaly_check_nan; }
  /// Switches it on or off.
  static void set_enabled(bool enabled, bool check_nan = true) {
    tandem::detail::RankContext::current().anomaly_mode = enabled;
    tandem::detail::RankContext::current().anomaly_check_nan = enabled && check_nan;
  }
};

/// Anomaly mode until it goes out of scope. The forward is to be run under it as well as the backward.
///   DetectAnomalyGuard guard;
///   loss(model(x)).backward();  // Error: backward of log returned NaN ... recorded at: ...
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true)
      : enabled_(AnomalyMode::is_enabled()), check_nan_(AnomalyMode::should_check_nan()) {
    AnomalyMode::set_enabled(true, check_nan);
  }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(enabled_, check_nan_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;

 private:
  bool enabled_, check_nan_;
};
using detect_anomaly = DetectAnomalyGuard;  // Python's name

namespace detail {

/// The functions that were being called when a node was made, and the node whose backward made it, if one did.
struct ForwardPlace {
  std::vector<void*> calls;
  std::string made_by;
  std::shared_ptr<const ForwardPlace> maker;
};
/// That of this moment.
std::shared_ptr<const ForwardPlace> current_place();
/// Lines that say it, the innermost call first.
std::string describe(const ForwardPlace& place);

/// While one lives, nodes that this thread makes are made by the backward of the node of that name and place.
class MakerGuard {
 public:
  MakerGuard(const std::string& name, const std::shared_ptr<const ForwardPlace>& place);
  ~MakerGuard();
  MakerGuard(const MakerGuard&) = delete;

 private:
  const std::string* outer_name_;
  const std::shared_ptr<const ForwardPlace>* outer_place_;
};

}  // namespace detail

}  // namespace tandem::autograd
