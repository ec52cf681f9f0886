// Finds the first operation whose result differs from the reference run. Used if a mode does not train exactly the same
// model as its reference.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "tandem/core/trace/observer.h"

namespace tandem::tools::compare {

/// Returns a hash of the bytes of a contiguous CPU tensor (FNV-1a, 8 bytes at a time).
uint64_t hash_tensor(const Tensor& t);

/// One executed operation, with hashes of the bytes that it wrote (`hash`) and read (`inputs`).
struct Fingerprint {
  int step = 0;
  std::string op;
  uint64_t hash = 0, inputs = 0;
};

/// Records a fingerprint of each operation on one CPU device, except operations that write a single number. Operations
/// on GPUs are ignored.
class FingerprintObserver final : public detail::Observer {
 public:
  explicit FingerprintObserver(Device device) : device_(device) {}
  void begin_step(int step) { step_ = step; }
  void on_kernel_call(const KernelCall& call) override;
  std::vector<Fingerprint> take();

 private:
  const Device device_;
  std::atomic<int> step_{0};
  std::mutex mutex_;
  std::vector<Fingerprint> fingerprints_;
};

/// Returns the first operation in `mode` whose result does not occur among the results of the same operation in the
/// same step of `reference`, as "conv2d, step 3". Skips data movement, losses, and operations that `reference` does not
/// contain. Returns "all_reduce, step 3" if this operation follows the step's last sum over ranks and its inputs differ
/// too, because then the averaged gradients differ. Returns "" if nothing differs.
std::string first_difference(const std::vector<Fingerprint>& mode, const std::vector<Fingerprint>& reference);

}  // namespace tandem::tools::compare
