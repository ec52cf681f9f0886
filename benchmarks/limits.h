// What this machine's processor does at best, which the rows of a run are held against: multiply-adds, matrix products,
// and bytes read, written and copied.
#pragma once
#include <map>

#include "tandem/benchmarks/program.h"

namespace tandem::benchmarks {

/// Measured with as many threads as Tandem takes, when it is asked for first. Every figure is the best of a few short
/// runs. On the CPU.
class MachineLimits {
 public:
  /// Operations a second, each multiply-add two of them: of float32 in registers, and of the best of some square matrix
  /// products (512, 1024, 2048) of float32 or bfloat16.
  double multiply_adds();
  double products(DType dtype);
  /// Bytes a second over so many bytes in all, again and again: what fits into a cache stays there. Of the ways to
  /// store (through the cache, around it) the faster.
  enum class Traffic { read, write, copy };
  double bandwidth(Traffic traffic, double bytes);

  /// The fewest seconds that the case's arithmetic or memory traffic takes by these figures; 0 where it states neither.
  double fewest_seconds(const Case& c);

 private:
  double multiply_adds_ = 0;
  std::map<DType, double> products_;
  std::map<std::pair<Traffic, int>, double> bandwidths_;  // by the power of two of the bytes, rounded
};

}  // namespace tandem::benchmarks
