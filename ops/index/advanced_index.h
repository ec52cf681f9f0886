// Helpers of index and index_put: apply the numbers and slices of an index, which give a view, and find the positions
// in that view that index tensors select. Internal.
#pragma once
#include <utility>

#include "tandem/core/internal.h"
#include "tandem/ops/index/tensor_index.h"

namespace tandem::detail {

/// Applies the numbers (including 0-dim integer tensors), slices, None and Ellipsis among the indices. Other tensors
/// are appended to `tensors` with the dimension that they index. Returns a view, or `self` itself.
Tensor apply_slicing(const char* op, const Tensor& self, ArrayRef<indexing::TensorIndex> indices,
                     std::vector<std::pair<int64_t, Tensor>>& tensors);
/// Positions that the index tensors name. The dimensions that they index are brought together, as in PyTorch: if they
/// are adjacent, they stay where they are; otherwise they move to the front.
struct AdvancedIndex {
  Tensor permuted;  // x.permute(dim_order), which makes the indexed dimensions adjacent
  Shape dim_order;
  int64_t first_indexed_dim = 0, num_indexed_dims;  // first indexed dimension of `permuted`, and their number
  // positions that the index tensors name, along dimension first_indexed_dim of flatten_indexed_dims(); its shape is
  // their broadcast shape
  Tensor positions;
  Tensor flatten_indexed_dims() const {
    return num_indexed_dims > 1 ? permuted.flatten(first_indexed_dim, first_indexed_dim + num_indexed_dims - 1)
                                : permuted;
  }
};
AdvancedIndex resolve_index_tensors(const char* op, const Tensor& x,
                                    const std::vector<std::pair<int64_t, Tensor>>& tensors);
/// @throws Error unless mask is on x's device and has the sizes of x's dimensions from `dim` on
void check_mask(const char* op, const Tensor& x, int64_t dim, const Tensor& mask);
/// Converts a list of optional tensors into entries of index({...}); a missing tensor selects the whole dimension.
std::vector<indexing::TensorIndex> to_tensor_indices(ArrayRef<std::optional<Tensor>> indices);

}  // namespace tandem::detail
