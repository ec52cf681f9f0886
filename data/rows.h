// Makes one tensor of many rows: the copying behind Stack and behind datasets that consist of tensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data::detail {

/// Stacks tensors of one shape, dtype and device along a new first dimension. Copies bytes unless autograd records.
/// @throws Error  if the list is empty, or a tensor differs from the first
Tensor stack_rows(TensorList rows);

/// Returns source's rows at `indices`, in their order. Copies bytes unless autograd records.
/// @throws IndexError  if an index is outside [0, source.size(0))
Tensor gather_rows(const Tensor& source, ArrayRef<size_t> indices);
/// Returns one number per channel as (C, 1, 1) float32, which broadcasts to images (C, H, W).
Tensor by_channel(ArrayRef<double> values);

}  // namespace tandem::data::detail
