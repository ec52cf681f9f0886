// Faults of speed that are planted on purpose, to see whether the report finds them.
#pragma once
#include <memory>
#include <string>

#include "tandem/core/observer.h"

namespace tandem::tools::compare {

struct Planted {
  enum class Kind : int8_t {
    none,
    compute,  // `seconds` more in each step's forward, on device or rank `where`
    input,    // `seconds` more for each batch, on all ranks
    slow,     // device or rank `where` takes `factor` times as long for each kernel
    memory    // `bytes` more on device or rank `where`, taken in the phase `phase` and held until the step's end
  };
  Kind kind = Kind::none;
  int where = 0;
  double seconds = 0, factor = 2;
  int64_t bytes = 0;
  std::string phase;
};
/// "none", "compute:RANK:SECONDS", "input:SECONDS", "slow:RANK:FACTOR", "memory:RANK:BYTES:PHASE".
/// @throws Error that says so
Planted parse_planted(const std::string& text);
/// The text that parse_planted() takes.
std::string str(const Planted& planted);

/// Slows the kernels of one device down; attached as an observer on the rank that it is on.
class Slowdown final : public detail::Observer {
 public:
  Slowdown(Planted planted, Device device) : planted_(std::move(planted)), device_(device) {}
  /// From now on a new step.
  void begin_step() { delayed_ = false; }
  void on_call(const KernelCall& call) override;

 private:
  const Planted planted_;
  const Device device_;
  std::atomic<bool> delayed_{false};
};

}  // namespace tandem::tools::compare
