// StepValues: stores a step's numbers in device memory, and updates them before each step.
#include "tandem/optim/step_values.h"

#include "tandem/core/cuda/capture.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/step_values.h"
#include "tandem/ops/ops.h"

namespace tandem::optim::detail {

// Size of the memory in 64-bit words. AdamValues is the largest struct that is stored.
constexpr int64_t kNumWords = static_cast<int64_t>(sizeof(kernels::AdamValues) / sizeof(uint64_t));

StepValues::StepValues(Device device) {
  const cuda::UncapturedGuard guard;  // the memory may be allocated while a Graph is captured
  memory_ = core::empty({kNumWords}, kFloat64, device);
}

void StepValues::write_words(ArrayRef<uint64_t> words) {
  if (std::equal(words.begin(), words.end(), last_written_words_.begin(), last_written_words_.end())) return;
  TANDEM_DISPATCH(memory_.device(), store_words, words, memory_);
  last_written_words_.assign(words.begin(), words.end());
}

/// Returns the first `count` words, but with the numbers of `last` as their last ones.
Tensor StepValues::with_last_words(size_t count, const Tensor& last) const {
  if (!last.defined()) return memory_;
  return cat({memory_.narrow(0, 0, static_cast<int64_t>(count) - last.numel()), last.to(kFloat64)});
}

}  // namespace tandem::optim::detail
