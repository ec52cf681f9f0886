// Uninitialised tensors: empty, empty_like, empty_strided, empty_permuted.
#include "tandem/ops/factory/empty.h"

#include "tandem/ops/factory/make_empty.h"

namespace tandem {

Tensor empty(IntArrayRef sizes, const TensorOptions& options, std::optional<MemoryFormat> format) {
  const TensorOptions all = format ? options.memory_format(*format) : options;
  return apply_requires_grad(make_empty("empty", sizes, all.dtype(), all), all);
}
Tensor empty_like(const Tensor& x) { return core::empty_like(x, x.dtype(), x.device()); }
Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return apply_requires_grad(make_empty_like("empty_like", x, options, format), options);
}
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  TANDEM_CHECK(!options.pinned_memory(),
               "empty_strided: pinned_memory(true) is not supported; call pin_memory() on the result");
  Tensor y = core::empty_strided(sizes, strides, options.dtype(), options.device());
  return options.requires_grad() ? y.requires_grad_() : y;
}
Tensor empty_permuted(IntArrayRef sizes, IntArrayRef physical_layout, const TensorOptions& options) {
  Shape strides(sizes.size(), 0);
  int64_t stride = 1;
  TANDEM_CHECK(physical_layout.size() == sizes.size(),
               "empty_permuted: Number of dimensions in size does not match the length of the physical_layout; i.e. "
               "len(size) = ",
               sizes.size(), " is not equal to len(physical_layout) = ", physical_layout.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(physical_layout[i]);
    TANDEM_CHECK(d < sizes.size(), "empty_permuted: Dimension out of range (expected to be between 0 and ",
                 sizes.size() - 1, ", but got ", physical_layout[i], " at index ", i, ")");
    TANDEM_CHECK(strides[d] == 0, "empty_permuted: Duplicate dim not allowed, got physical_layout ", physical_layout);
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return empty_strided(sizes, strides, options);
}

}  // namespace tandem
