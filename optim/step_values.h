// The numbers of an optimizer's step that may change before the next one, where kernels read them. Internal.
#pragma once
#include <array>
#include <bit>

#include "tandem/core/tensor.h"

namespace tandem::optim::detail {

/// In the memory of one device. A recorded step refers to it, and writes it before each replay.
class StepValues {
 public:
  explicit StepValues(Device device);
  const Tensor& memory() const { return memory_; }
  /// A struct of 64-bit numbers; in the order of the device's current stream, and only if one has changed.
  template <class Values> void write(const Values& values) {
    const auto words = std::bit_cast<std::array<uint64_t, sizeof(Values) / sizeof(uint64_t)>>(values);
    write_words(words);
  }
  bool begins = false;  // of SGD: the next step is the first of its momentum buffers

 private:
  void write_words(ArrayRef<uint64_t> words);
  Tensor memory_;
  std::vector<uint64_t> written_;
};

}  // namespace tandem::optim::detail
