// Declares faults that can be injected on purpose (`--plant`), to test whether the report finds them.
#pragma once
#include "tandem/core/trace/observer.h"

namespace tandem::tools::compare {

struct InjectedFault {
  enum class Kind : int8_t {
    none,
    compute,  // adds `seconds` to each step's forward, on device or rank `target`
    input,    // adds `seconds` to the loading of each batch, on all ranks
    slow,     // makes each operation on device or rank `target` take `factor` (1 or more) times its CPU time
    /// Adds `seconds` to the first transfer of each step to or from device `target`. Under DDP, adds them to the first
    /// all-reduce of each step, on rank `target`.
    link,
    memory,  // allocates `bytes` on device or rank `target` in phase `phase`, and frees them at the step's end
    fail     // makes rank `target` throw an Error in its first measured step
  };
  Kind kind = Kind::none;
  int target = 0;
  double seconds = 0, factor = 2;
  int64_t bytes = 0;
  std::string phase;
};
/// Parses "none", "compute:RANK:SECONDS", "input:SECONDS", "slow:RANK:FACTOR", "link:RANK:SECONDS",
/// "memory:RANK:BYTES:PHASE", "fail:RANK".
/// "" is "none". @throws Error that lists these forms if `text` has another, or the phases if PHASE is none of them
InjectedFault parse_fault(const std::string& text);
/// Returns the text form of `fault`, which parse_fault() accepts.
std::string str(const InjectedFault& fault);

/// Sleeps for at least `seconds`, and returns the seconds that really passed.
double sleep_for(double seconds);

/// Slows down the operations of one device, or its transfers. Attached as an observer on the rank that owns the device.
class Slowdown final : public detail::Observer {
 public:
  /// @param between_ranks  true: delays all-reduces between ranks; false: delays copies between devices of one process
  Slowdown(InjectedFault fault, Device device, bool between_ranks)
      : fault_(std::move(fault)), device_(device), between_ranks_(between_ranks) {}
  /// Starts a new step.
  void begin_step() { delayed_ = false; }
  void on_kernel_call(const KernelCall& call) override;
  /// Returns the seconds slept on purpose so far.
  double slept_seconds() const { return slept_seconds_; }

 private:
  const InjectedFault fault_;
  const Device device_;
  const bool between_ranks_;
  std::atomic<bool> delayed_{false};
  std::atomic<double> slept_seconds_{0},
      sleep_debt_{0};  // seconds slept so far, and seconds that are still to be slept
};

}  // namespace tandem::tools::compare
