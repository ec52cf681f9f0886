// New tensors filled with one number: zeros, ones, full, zeros_like, ones_like, full_like.
#include "tandem/ops/factory/zeros_ones_full.h"

#include "tandem/kernels/fill.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/factory/make_empty.h"

namespace tandem {

namespace {
Tensor fill_new_tensor(const char* op, Tensor out, const Scalar& value, const TensorOptions& options) {
  detail::check_representable(op, out.dtype(), value);
  TANDEM_DISPATCH(out.device(), fill, value, out);
  return apply_requires_grad(out, options);
}
Tensor make_filled(const char* op, IntArrayRef sizes, const Scalar& value, DType dtype, const TensorOptions& options) {
  return fill_new_tensor(op, make_empty(op, sizes, dtype, options), value, options);
}
}  // namespace
Tensor zeros(IntArrayRef sizes, const TensorOptions& options) {
  return make_filled("zeros", sizes, 0, options.dtype(), options);
}
Tensor zeros_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return fill_new_tensor("zeros_like", make_empty_like("zeros_like", x, options, format), 0, options);
}
Tensor ones(IntArrayRef sizes, const TensorOptions& options) {
  return make_filled("ones", sizes, 1, options.dtype(), options);
}
Tensor ones_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return fill_new_tensor("ones_like", make_empty_like("ones_like", x, options, format), 1, options);
}
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) {
  const DType dtype = options.dtype_or(value.dtype());
  // if there is a single element, the value may overflow to infinity, as in PyTorch
  if (is_reduced_floating_point(dtype) && numel_of(sizes) == 1)
    return make_filled("full", sizes, core::scalar(value, dtype, kCPU).item(), dtype, options);
  return make_filled("full", sizes, value, dtype, options);
}
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options,
                 std::optional<MemoryFormat> format) {
  return fill_new_tensor("full_like", make_empty_like("full_like", x, options, format), value, options);
}

}  // namespace tandem
