// Helpers that allocate new tensors as the options say.
#include "tandem/ops/factory/make_empty.h"

namespace tandem::detail {

Tensor make_empty(const char* op, IntArrayRef sizes, DType dtype, const TensorOptions& options) {
  const MemoryFormat format = options.memory_format_opt().value_or(MemoryFormat::Contiguous);
  if (!options.pinned_memory() && format == MemoryFormat::Contiguous) [[likely]]
    return core::empty(sizes, dtype, options.device(), op);
  compute_nbytes(op, sizes, dtype);
  const Shape strides = core::strides_of(op, sizes, format);
  return options.pinned_memory() ? core::empty_pinned(sizes, dtype, options.device(), &strides)
                                 : core::empty_dense(sizes, strides, dtype, options.device());
}
TensorOptions merge_options(const Tensor& x, const TensorOptions& options) {
  return options.dtype(options.dtype_or(x.dtype())).device(options.device_or(x.device()));
}
Tensor make_empty_like(const char* op, const Tensor& x, const TensorOptions& given,
                       std::optional<MemoryFormat> format) {
  const TensorOptions options = merge_options(x, given);
  const MemoryFormat wanted = format.value_or(options.memory_format_opt().value_or(MemoryFormat::Preserve));
  if (!options.pinned_memory()) return core::empty_like(x, options.dtype(), options.device(), wanted);
  compute_nbytes(op, x.sizes(), options.dtype());
  const Shape strides = core::strides_like(x, wanted);
  return core::empty_pinned(x.sizes(), options.dtype(), options.device(), &strides);
}
Tensor apply_requires_grad(Tensor t, const TensorOptions& options) {
  if (options.requires_grad()) t.requires_grad_();
  return t;
}

}  // namespace tandem::detail
