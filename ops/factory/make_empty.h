// Helpers that allocate new tensors as the options say. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Returns an uninitialised tensor of the given dtype; its device and all other properties come from the options.
Tensor make_empty(const char* op, IntArrayRef sizes, DType dtype, const TensorOptions& options);
/// Returns the options with x's dtype and device filled in where the options do not set them.
TensorOptions merge_options(const Tensor& x, const TensorOptions& options);
/// Returns an uninitialised tensor with the properties of x, except for those that `given` and `format` set.
Tensor make_empty_like(const char* op, const Tensor& x, const TensorOptions& given, std::optional<MemoryFormat> format);
/// Returns t, after setting requires_grad if the options say so.
Tensor apply_requires_grad(Tensor t, const TensorOptions& options);

}  // namespace tandem::detail
