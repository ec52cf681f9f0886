// Functions that combine many rows into one tensor, for the Stack transform and for datasets that consist of tensors.
#pragma once
#include <vector>

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
/// Position of a row in a list of tensors.
struct RowPosition {
  size_t source, row;  // index of the tensor in the list, and index of the row in the tensor
};
/// Returns the rows at `positions` in `sources`, in the order of `positions`. Copies bytes unless autograd must record
/// the operation. `sources` has at least one tensor.
/// @throws Error  if the rows of two sources differ in shape, dtype or device
Tensor merge_rows(TensorList sources, const std::vector<RowPosition>& positions);

/// Returns `values`, one number per channel or one for all, as a float32 tensor (C, 1, 1) or (1, 1, 1), which
/// broadcasts to images (C, H, W).
Tensor to_channel_tensor(ArrayRef<double> values);

}  // namespace tandem::data::detail
