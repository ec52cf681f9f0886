// New tensors filled with one number: zeros, ones, full, zeros_like, ones_like, full_like.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns zeros: contiguous, of the default dtype, on the CPU, unless the options set another format, dtype or device.
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
/// Returns zeros with the sizes, dtype, device and layout that empty_like would choose.
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Returns ones, with the defaults of zeros().
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
/// Returns ones with the sizes, dtype, device and layout that empty_like would choose.
Tensor ones_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Returns a tensor filled with `value`. Unless the options set a dtype, it is int64, bool or the default floating
/// dtype, depending on `value`.
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {},
                 std::optional<MemoryFormat> format = {});

}  // namespace tandem
