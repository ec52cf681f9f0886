// Making one tensor of many rows: the copying behind Stack and behind datasets that are tensors already.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data::detail {

/// A new first dimension over tensors of one shape, dtype and device. Plain copying where nothing is to be recorded.
/// @throws Error  when the list is empty, or a tensor differs from the first
Tensor stack_rows(TensorList rows);

/// source's rows at `indices`, in their order. Plain copying where nothing is to be recorded.
/// @throws IndexError  for an index outside [0, source.size(0))
Tensor gather_rows(const Tensor& source, ArrayRef<size_t> indices);
/// One number for each channel, to work with images (C, H, W): (C, 1, 1) float32.
Tensor by_channel(ArrayRef<double> values);

}  // namespace tandem::data::detail
