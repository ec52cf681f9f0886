// New tensors of one number: zeros, ones, full, and zeros_like, ones_like, full_like.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Zeros, row-major, float32 on the CPU unless the options name another dtype, device or format.
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
/// Zeros as empty_like gives them.
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Ones, as zeros().
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
/// Ones as empty_like gives them.
Tensor ones_like(const Tensor& x, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Every element is `value`, whose kind gives the dtype unless the options name one.
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, const Scalar& value, const TensorOptions& options = {},
                 std::optional<MemoryFormat> format = {});

}  // namespace tandem
