// Operations that autograd calls by name, other than methods of Tensor. ops/ defines them.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Writes the elements of `source` into `target`, with conversion of dtype, across devices, with broadcasting. Not
/// recorded, and does not raise the version; copy_ and similar operations build on it. `non_blocking` as in Tensor::to.
void copy_elements(const Tensor& source, const Tensor& target, bool non_blocking = false);
/// Sums x over the dimensions along which `sizes` was broadcast.
Tensor sum_to_size(const Tensor& x, IntArrayRef sizes);
/// Whether two different indices into a tensor with these sizes and strides may refer to the same element.
bool may_overlap(IntArrayRef sizes, IntArrayRef strides);
/// Geometry of a view relative to its base.
struct ViewGeometry {
  ViewGeometry(const Tensor& base, const Tensor& view);
  Shape base_sizes, base_strides, sizes, strides;
  // Offsets of base and view, relative to the lower of the two offsets. So one of them is 0.
  int64_t base_offset, offset;
  int64_t extent;  // number of storage elements that base and view span together
  /// Copies a tensor of the base's shape into a one-dimensional tensor, with the memory layout of the base.
  Tensor to_storage_layout(const Tensor& like_base) const;
};
/// Gradient of as_strided with respect to the base. If several elements of the view share memory, their gradients are
/// summed.
Tensor as_strided_backward(const Tensor& dy, const ViewGeometry& geometry);

}  // namespace tandem
