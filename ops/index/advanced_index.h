// Shared by index and index_put: numbers and slices give a view, tensors name positions in that view. Internal.
#pragma once
#include <utility>

#include "tandem/core/internal.h"
#include "tandem/ops/index/tensor_index.h"

namespace tandem::detail {

/// Applies numbers (also those that are a tensor of no dimension), slices, None and Ellipsis; other tensors are left
/// for later with the dimension they index. A view, or `whole` itself.
Tensor basic_index(const char* op, const Tensor& whole, ArrayRef<indexing::TensorIndex> indices,
                   std::vector<std::pair<int64_t, Tensor>>& tensors);
/// What the tensors among the indices point at: x with the dimensions that they index side by side, as PyTorch has them
/// (where they are if they are neighbours, else in front), and positions in those.
struct Pointed {
  Tensor moved;  // x.permute(order)
  Shape order;
  int64_t dim = 0, count;  // the indexed ones among moved's dimensions
  Tensor at;               // of the shape that the index tensors broadcast to
  Tensor flat() const { return count > 1 ? moved.flatten(dim, dim + count - 1) : moved; }
};
Pointed point(const char* op, const Tensor& x, const std::vector<std::pair<int64_t, Tensor>>& tensors);
/// @throws Error unless mask is on x's device and has the sizes of x's dimensions from `dim` on
void check_mask(const char* op, const Tensor& x, int64_t dim, const Tensor& mask);
/// A list in which what is missing stands for a whole dimension, as index({...}) takes it.
std::vector<indexing::TensorIndex> index_entries(ArrayRef<std::optional<Tensor>> indices);

}  // namespace tandem::detail
