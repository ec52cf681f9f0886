// New tensors without values: empty, empty_like, empty_strided, empty_permuted.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Uninitialised elements, row-major unless `format` or the options name another memory format.
/// @throws Error for ChannelsLast of anything but four sizes
Tensor empty(IntArrayRef sizes, const TensorOptions& options = {}, std::optional<MemoryFormat> format = {});
/// Uninitialised elements that lie as x's do, of its sizes, dtype and device.
Tensor empty_like(const Tensor& x);
/// Uninitialised elements like x's. Of this and the other functions named _like: sizes are x's, and so are the dtype,
/// the device and the way in which the elements lie unless `format` or the options name them. Where x has gaps or
/// repeated elements, its order of dimensions is kept.
Tensor empty_like(const Tensor& x, const TensorOptions& options, std::optional<MemoryFormat> format = {});
/// Uninitialised elements that lie with these strides.
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// Uninitialised elements that lie without gaps, with the dimensions in the order `physical_layout`, outermost first.
Tensor empty_permuted(IntArrayRef sizes, IntArrayRef physical_layout, const TensorOptions& options = {});

}  // namespace tandem
