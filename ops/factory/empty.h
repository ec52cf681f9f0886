// Uninitialised tensors: empty, empty_like, empty_strided, empty_permuted.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns an uninitialised tensor, contiguous unless `format` or the options set another memory format.
/// @throws Error if the format is ChannelsLast and there are not four sizes
Tensor empty(IntArrayRef sizes, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Returns an uninitialised tensor with x's sizes, dtype, device and layout.
Tensor empty_like(const Tensor& x);
/// Returns an uninitialised tensor like x. All functions named _like take the sizes from x, and also the dtype, device
/// and layout, unless `format` or the options set them. If x has gaps or repeated elements, the result is dense and
/// keeps the order of x's dimensions in memory.
Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format = {});
/// Returns an uninitialised tensor with these strides.
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// Returns an uninitialised dense tensor whose dimensions lie in memory in the order `physical_layout`, outermost
/// first.
Tensor empty_permuted(IntArrayRef sizes, IntArrayRef physical_layout, const TensorOptions& options = {});

}  // namespace tandem
