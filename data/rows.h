// Functions that combine many rows into one tensor, for the Stack transform and for datasets that consist of tensors.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data::detail {

/// Stacks tensors of one shape, dtype and device along a new first dimension. Copies bytes unless autograd must record
/// the operation.
/// @throws Error  if the list is empty, or a tensor differs from the first
Tensor stack_rows(TensorList rows);

/// Returns the rows of `source` at `indices`, in the order of `indices`. Copies bytes unless autograd must record the
/// operation.
/// @throws IndexError  if an index is outside [0, source.size(0))
Tensor gather_rows(const Tensor& source, ArrayRef<size_t> indices);
/// Returns `values`, one number per channel or one for all, as a float32 tensor (C, 1, 1) or (1, 1, 1), which
/// broadcasts to images (C, H, W).
Tensor to_channel_tensor(ArrayRef<double> values);

}  // namespace tandem::data::detail
