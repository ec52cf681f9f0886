// Faults that are planted on purpose, to see whether the report finds them.
#pragma once
#include "tandem/core/trace/observer.h"

namespace tandem::tools::compare {

struct Planted {
  enum class Kind : int8_t {
    none,
    compute,  // `seconds` more in each step's forward, on device or rank `where`
    input,    // `seconds` more for each batch, on all ranks
    slow,     // each kernel of device or rank `where` takes `factor` times the processor time of its thread
    link,    // `seconds` more for the first transfer of each step to or from device `where`; of DDP, for rank `where`'s
             // part of its first all-reduce
    memory,  // `bytes` more on device or rank `where`, taken in the phase `phase` and held until the step's end
    fail     // rank `where` throws in its first counted step
  };
  Kind kind = Kind::none;
  int where = 0;
  double seconds = 0, factor = 2;
  int64_t bytes = 0;
  std::string phase;
};
/// "none", "compute:RANK:SECONDS", "input:SECONDS", "slow:RANK:FACTOR", "link:RANK:SECONDS", "memory:RANK:BYTES:PHASE",
/// "fail:RANK".
/// @throws Error that says so
Planted parse_planted(const std::string& text);
/// The text that parse_planted() takes.
std::string str(const Planted& planted);

/// Sleeps, and returns how long it was.
double sleep_for(double seconds);

/// Slows the kernels of one device down, or its link; attached as an observer on the rank that it is on.
class Slowdown final : public detail::Observer {
 public:
  /// @param of_ranks  the link is that between ranks, and not that between the devices of one process
  Slowdown(Planted planted, Device device, bool of_ranks)
      : planted_(std::move(planted)), device_(device), of_ranks_(of_ranks) {}
  /// From now on a new step.
  void begin_step() { delayed_ = false; }
  void on_call(const KernelCall& call) override;
  /// How long it has slept so far on purpose, in seconds.
  double slept() const { return slept_; }

 private:
  const Planted planted_;
  const Device device_;
  const bool of_ranks_;
  std::atomic<bool> delayed_{false};
  std::atomic<double> slept_{0}, owed_{0};  // seconds
};

}  // namespace tandem::tools::compare
