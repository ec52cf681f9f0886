// Anomaly mode: errors in backward name the place in the forward that recorded the node.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "tandem/core/thread_context.h"

namespace tandem::autograd {

/// Anomaly mode of this thread and of each backward() that it calls. Each node notes where in the program it was made,
/// and an error in its backward reports that place. With `check_nan`, a gradient that contains NaN is an error. Slow;
/// for debugging.
struct AnomalyMode {
  /// Whether anomaly mode is on.
  static bool is_enabled() { return tandem::detail::ThreadContext::current().anomaly_mode; }
  /// Whether a gradient that contains NaN is an error.
  static bool should_check_nan() { return tandem::detail::ThreadContext::current().anomaly_check_nan; }
  /// Turns anomaly mode on or off.
  static void set_enabled(bool enabled, bool check_nan = true) {
    tandem::detail::ThreadContext::current().anomaly_mode = enabled;
    tandem::detail::ThreadContext::current().anomaly_check_nan = enabled && check_nan;
  }
};

/// Turns on anomaly mode until the guard goes out of scope. Run both forward and backward under it.
///   DetectAnomalyGuard guard;
///   loss(model(x)).backward();  // Error: backward of log returned NaN ... recorded at: ...
class DetectAnomalyGuard {
 public:
  explicit DetectAnomalyGuard(bool check_nan = true)
      : previous_enabled_(AnomalyMode::is_enabled()), previous_check_nan_(AnomalyMode::should_check_nan()) {
    AnomalyMode::set_enabled(true, check_nan);
  }
  ~DetectAnomalyGuard() { AnomalyMode::set_enabled(previous_enabled_, previous_check_nan_); }
  DetectAnomalyGuard(const DetectAnomalyGuard&) = delete;

 private:
  bool previous_enabled_, previous_check_nan_;
};
using detect_anomaly = DetectAnomalyGuard;  // Python's name

namespace detail {

/// Where a node was made. In anomaly mode: the stack trace, and the node in whose backward it was made, if any. During
/// a trace: the module.
struct AnomalyMetadata {
  std::vector<void*> stack_frames;  // empty without anomaly mode
  std::string module_path;          // such as "Net.conv1"; empty without a trace, and outside of modules
  std::string parent_name;
  std::shared_ptr<const AnomalyMetadata> parent;
};
/// Returns the place where this thread is now.
std::shared_ptr<const AnomalyMetadata> capture_anomaly_metadata();
/// Formats the stack trace as lines of text, innermost call first.
std::string format_anomaly_metadata(const AnomalyMetadata& metadata);

/// While this guard lives, nodes that this thread makes are attributed to the backward of the node with this name and
/// place.
class ParentNodeGuard {
 public:
  ParentNodeGuard(const std::string& name, const std::shared_ptr<const AnomalyMetadata>& metadata);
  ~ParentNodeGuard();
  ParentNodeGuard(const ParentNodeGuard&) = delete;

 private:
  const std::string* previous_parent_name_;
  const std::shared_ptr<const AnomalyMetadata>* previous_parent_metadata_;
};

}  // namespace detail

}  // namespace tandem::autograd
