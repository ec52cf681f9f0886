// Functions that make tensors and views without recording them: from_blob for programs; those of detail::core for
// kernels, planners and the engine.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// @throws Error, which names the op, for an inference tensor outside of InferenceMode: it must not be changed in place
inline void check_changeable(const char* op, const Tensor& x) {
  if (x.is_inference() && !InferenceMode::is_enabled()) [[unlikely]]
    throw_inference_inplace(op, x.sizes());
}
/// The shape that both broadcast to. @throws Error that names op and both shapes
Shape broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b);
/// How many bytes an op's tensor takes, or an error when that overflows or a size is negative.
int64_t checked_bytes(const char* op, IntArrayRef sizes, DType dtype);

}  // namespace detail

namespace detail::core {
// Views and allocations that record nothing: for kernels, planners and the engine.
/// @param op  what an error names
Tensor empty(IntArrayRef sizes, DType dtype, Device device, const char* op = "empty");
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, DType dtype, Device device);
/// Elements that lie with these strides, which leave no gaps.
Tensor empty_dense(IntArrayRef sizes, const Shape& strides, DType dtype, Device device);
/// Of a copy of x in `format`, or as x lies.
Shape strides_like(const Tensor& x, MemoryFormat format);
/// For such a copy.
Tensor empty_like(const Tensor& x, DType dtype, Device device, MemoryFormat format = MemoryFormat::Preserve);
/// For the result of an operation whose inputs broadcast to `sizes`: see Note [Strides of results].
template <class... Inputs> Tensor empty_for(IntArrayRef sizes, DType dtype, Device device, const Inputs&... inputs) {
  static_assert(sizeof...(inputs) <= 4, "result_strides has room for four");
  if (sizes.size() <= 1 || (inputs.impl()->row_major && ...)) [[likely]]
    return empty(sizes, dtype, device);
  return empty_dense(sizes, result_strides(sizes, {inputs.impl()...}), dtype, device);
}
/// Gives x, which has no elements, other sizes, and memory of its own for them.
void allocate(Tensor& x, IntArrayRef sizes);
/// Row-major unless strides, which leave no gaps, are given; in page-locked memory. `device` is a virtual CPU device.
Tensor empty_pinned(IntArrayRef sizes, DType dtype, Device device = kCPU, const Shape* strides = nullptr);
Tensor as_strided(const Tensor& x, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
/// An alias with sizes that x's strides allow, or undefined when they do not.
Tensor try_view(const Tensor& x, IntArrayRef sizes);
Tensor expand(const Tensor& x, IntArrayRef sizes);
Tensor permute(const Tensor& x, IntArrayRef dims);
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
/// Another handle on the same elements, with a record of its own.
Tensor alias(const Tensor& x);
/// A scalar tensor (no dimensions) on a CPU device.
Tensor scalar(const Scalar& value, DType dtype, Device device);
}  // namespace detail::core

/// Wraps memory that stays the caller's; `deleter`, if any, is called when the last tensor on it is gone.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter, const TensorOptions& options = {});
/// The same with strides, in elements. @throws Error where one is negative
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
                 const TensorOptions& options = {});

}  // namespace tandem
