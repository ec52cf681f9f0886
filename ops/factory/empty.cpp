// Uninitialised tensors: empty, empty_like, empty_strided, empty_permuted.
#include "tandem/ops/factory/empty.h"

#include "tandem/ops/factory/make_empty.h"

namespace tandem {

Tensor empty(IntArrayRef sizes, const TensorOptions& options, std::optional<MemoryFormat> format) {
  const TensorOptions all = format ? options.memory_format(*format) : options;
  return finish_new(make_empty("empty", sizes, all.dtype(), all), all);
}
Tensor empty_like(const Tensor& x) { return core::empty_like(x, x.dtype(), x.device()); }
Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return finish_new(make_empty_like("empty_like", x, options, format), options);
}
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  TANDEM_CHECK(!options.pinned_memory(),
               "empty_strided: pinned memory was asked for, which it does not make; use pin_memory()");
  Tensor y = core::empty_strided(sizes, strides, options.dtype(), options.device());
  return options.requires_grad() ? y.requires_grad_() : y;
}
Tensor empty_permuted(IntArrayRef sizes, IntArrayRef physical_layout, const TensorOptions& options) {
  Shape strides(sizes.size(), 0);
  int64_t stride = 1;
  TANDEM_CHECK(physical_layout.size() == sizes.size(), "empty_permuted: sizes are ", sizes, " and physical_layout ",
               physical_layout, "; accepted: each dimension once");
  for (size_t i = sizes.size(); i-- > 0;) {
    const auto d = static_cast<size_t>(physical_layout[i]);
    TANDEM_CHECK(d < sizes.size() && strides[d] == 0, "empty_permuted: sizes are ", sizes, " and physical_layout ",
                 physical_layout, "; accepted: each dimension once");
    strides[d] = stride;
    stride *= std::max<int64_t>(sizes[d], 1);
  }
  return empty_strided(sizes, strides, options);
}

}  // namespace tandem
