// Declares faults that can be injected on purpose (`--plant`), to test whether the report finds them.
#pragma once
#include "tandem/core/trace/observer.h"

namespace tandem::tools::compare {

struct Planted {
  enum class Kind : int8_t {
    none,
    compute,  // adds `seconds` to each step's forward, on device or rank `where`
    input,    // adds `seconds` to the loading of each batch, on all ranks
    slow,     // makes each operation on device or rank `where` take `factor` (1 or more) times its CPU time
    /// Adds `seconds` to the first transfer of each step to or from device `where`. Under DDP, adds them to the first
    /// all-reduce of each step, on rank `where`.
    link,
    memory,  // allocates `bytes` on device or rank `where` in phase `phase`, and frees them at the step's end
    fail     // makes rank `where` throw an Error in its first measured step
  };
  Kind kind = Kind::none;
  int where = 0;
  double seconds = 0, factor = 2;
  int64_t bytes = 0;
  std::string phase;
};
/// Parses "none", "compute:RANK:SECONDS", "input:SECONDS", "slow:RANK:FACTOR", "link:RANK:SECONDS",
/// "memory:RANK:BYTES:PHASE", "fail:RANK".
/// "" is "none". @throws Error that lists these forms if `text` has another
Planted parse_planted(const std::string& text);
/// Returns the text form of `planted`, which parse_planted() accepts.
std::string str(const Planted& planted);

/// Sleeps for at least `seconds`, and returns the seconds that really passed.
double sleep_for(double seconds);

/// Slows down the operations of one device, or its transfers. Attached as an observer on the rank that owns the device.
class Slowdown final : public detail::Observer {
 public:
  /// @param of_ranks  true: delays all-reduces between ranks; false: delays copies between devices of one process
  Slowdown(Planted planted, Device device, bool of_ranks)
      : planted_(std::move(planted)), device_(device), of_ranks_(of_ranks) {}
  /// Starts a new step.
  void begin_step() { delayed_ = false; }
  void on_call(const KernelCall& call) override;
  /// Returns the seconds slept on purpose so far.
  double slept() const { return slept_; }

 private:
  const Planted planted_;
  const Device device_;
  const bool of_ranks_;
  std::atomic<bool> delayed_{false};
  std::atomic<double> slept_{0}, owed_{0};  // seconds slept so far, and seconds that are still to be slept
};

}  // namespace tandem::tools::compare
