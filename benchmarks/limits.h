// MachineLimits measures the peak rates of this machine's CPU: multiply-adds, matrix products, and bytes read, written
// and copied. Reports compare benchmark results with these rates.
#pragma once
#include <map>

#include "tandem/benchmarks/program.h"

namespace tandem::benchmarks {

/// Peak rates of the CPU with as many threads as Tandem uses. Each rate is the best of a few short runs; it is measured
/// at the first call that asks for it, and then cached.
class MachineLimits {
 public:
  /// Returns the operations per second of float32 multiply-adds in registers. A multiply-add counts as two.
  double fma_flops();
  /// Returns the operations per second of the fastest square matrix product of size 512, 1024 or 2048.
  /// @param dtype  float32 or bfloat16
  double matmul_flops(DType dtype);
  enum class MemoryTraffic { read, write, copy };
  /// Returns the bytes per second of repeated passes over the same `bytes` bytes of memory, which stay in a cache if
  /// they fit into one. Writes and copies use the faster of ordinary and non-temporal stores.
  double bandwidth(MemoryTraffic traffic, double bytes);

  /// Returns the least seconds that the case's arithmetic and memory traffic can take at these rates; 0 if the
  /// benchmark states neither `flops` nor `bytes`.
  double min_seconds(const Case& c);

 private:
  double fma_flops_ = 0;
  std::map<DType, double> matmul_flops_;
  // best rate by kind of traffic and log2 of the number of bytes, rounded
  std::map<std::pair<MemoryTraffic, int>, double> bandwidths_;
};

}  // namespace tandem::benchmarks
