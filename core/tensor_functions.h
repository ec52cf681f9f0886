// Functions that create tensors and views without recording them. from_blob() is for programs; the functions in
// detail::core are for kernels, code that prepares kernel calls, and the autograd engine.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// Checks that x may be changed in place. @throws Error that names `op` if x is an inference tensor and this thread is
/// not in inference mode
inline void check_inplace_allowed(const char* op, const Tensor& x) {
  if (x.is_inference() && !InferenceMode::is_enabled()) [[unlikely]]
    throw_inference_inplace(op, x.sizes());
}
/// Shape to which a and b broadcast. @throws Error that names op and both shapes
Shape broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b);
/// Bytes of a tensor of these sizes. @throws Error that names op if a size is negative or the product overflows
int64_t compute_nbytes(const char* op, IntArrayRef sizes, DType dtype);

}  // namespace detail

namespace detail::core {
// Views and allocations that autograd does not record: for kernels, code that prepares kernel calls, and the engine.
/// @param op  operation that an error names
Tensor empty(IntArrayRef sizes, DType dtype, Device device, const char* op = "empty");
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device);
/// Uninitialised tensor with these strides, which must be dense (without gaps).
Tensor empty_dense(IntArrayRef sizes, const Shape& strides, DType dtype, Device device);
/// Strides of a copy of x in `format`; Preserve keeps the strides of a dense x.
Shape strides_like(const Tensor& x, MemoryFormat format);
/// Uninitialised tensor with the sizes of x and the strides that strides_like(x, format) returns.
Tensor empty_like(const Tensor& x, DType dtype, Device device, MemoryFormat format = MemoryFormat::Preserve);
/// Uninitialised result of an operation whose inputs broadcast to `sizes`; for the strides, see Note [Strides of
/// results].
template <class... Inputs> Tensor empty_result(IntArrayRef sizes, DType dtype, Device device, const Inputs&... inputs) {
  static_assert(sizeof...(inputs) <= 4, "result_strides has room for four");
  if (sizes.size() <= 1 || (inputs.impl()->row_major && ...)) [[likely]]
    return empty(sizes, dtype, device);
  return empty_dense(sizes, result_strides(sizes, {inputs.impl()...}), dtype, device);
}
/// Sets the sizes of x in place, and replaces its storage by a new, uninitialised one. x keeps its dtype and device.
void allocate(Tensor& x, IntArrayRef sizes);
/// Uninitialised tensor in page-locked memory, row-major unless strides (without gaps) are given. `device` is a virtual
/// CPU device.
Tensor empty_pinned(IntArrayRef sizes, DType dtype, Device device = kCPU, const Shape* strides = nullptr);
Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
/// A view of x with other sizes; undefined if the strides of x do not allow one.
Tensor try_view(const Tensor& x, IntArrayRef sizes);
Tensor expand(const Tensor& x, IntArrayRef sizes);
Tensor permute(const Tensor& x, IntArrayRef dims);
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// A new tensor with the same storage and geometry as x, but its own autograd metadata.
Tensor alias(const Tensor& x);
/// Returns a 0-dimensional tensor with this value on a CPU device.
Tensor scalar(const Scalar& value, DType dtype, Device device);
}  // namespace detail::core

/// Makes a tensor on a CPU device from memory that the caller owns. `deleter`, if given, is called once no tensor uses
/// the memory. @throws Error if the options name a GPU, or if `data` is null although there are elements
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {});
/// from_blob() with strides, in elements. @throws Error if a stride is negative
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

}  // namespace tandem
