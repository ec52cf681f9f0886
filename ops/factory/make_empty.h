// Helpers of the functions that make new tensors: they allocate memory as the options say. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Uninitialised, of another dtype than the options' perhaps.
Tensor make_empty(const char* op, IntArrayRef sizes, DType dtype, const TensorOptions& options);
/// Options with x's dtype and device where they leave these open.
TensorOptions made_as(const Tensor& x, const TensorOptions& options);
/// As x is, but for what the options say.
Tensor make_empty_like(const char* op, const Tensor& x, const TensorOptions& given, std::optional<MemoryFormat> format);
/// t, which requires a gradient if the options say so.
Tensor finish_new(Tensor t, const TensorOptions& options);

}  // namespace tandem::detail
