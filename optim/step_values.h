// Device memory for the numbers of an optimizer's step that may change between steps. Internal.
#pragma once
#include <array>
#include <bit>
#include <cstddef>

#include "tandem/core/tensor.h"

namespace tandem::optim::detail {

/// Memory on one device for the numbers of a step. A recorded step reads them there, and updates them before each
/// replay.
class StepValues {
 public:
  explicit StepValues(Device device);
  const Tensor& memory() const { return memory_; }
  /// Writes a struct of 64-bit numbers, on the device's current CUDA stream. Does nothing if no number has changed.
  template <class Values> void write(const Values& values) {
    const auto words = std::bit_cast<std::array<uint64_t, sizeof(Values) / sizeof(uint64_t)>>(values);
    write_words(words);
  }
  /// Returns a copy of memory(), whose contents are a Values, in which Values::scaling is replaced by
  /// `gradient_scaling`. Returns memory() itself if `gradient_scaling` is undefined.
  /// @param gradient_scaling  result of Optimizer::gradient_scaling()
  template <class Values> Tensor with_scaling(const Tensor& gradient_scaling) const {
    static_assert(offsetof(Values, scaling) + sizeof(Values::scaling) == sizeof(Values), "must be the last member");
    return with_last_words(sizeof(Values) / sizeof(uint64_t), gradient_scaling);
  }
  bool is_first_step = false;  // used by SGD: the next step is the first one with these momentum buffers

 private:
  void write_words(ArrayRef<uint64_t> words);
  Tensor with_last_words(size_t count, const Tensor& last) const;
  Tensor memory_;
  std::vector<uint64_t> last_written_words_;
};

}  // namespace tandem::optim::detail
