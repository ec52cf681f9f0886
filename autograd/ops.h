// The few operations that the engine calls by name, beside Tensor's methods. ops/ defines them.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Writes the elements of `source` into `target`, converting dtype, across devices, broadcasting. Records nothing and
/// does not raise the version: for copy_ and for those who build on it. `non_blocking` as in Tensor::to.
void copy_elements(const Tensor& source, const Tensor& target, bool non_blocking = false);
/// Sums x over the dimensions in which `sizes` was broadcast to it.
Tensor sum_to_size(const Tensor& x, IntArrayRef sizes);
/// Whether two index tuples of this geometry may name one element.
bool may_overlap(IntArrayRef sizes, IntArrayRef strides);
/// Where the elements of a view lie among those of its base.
struct ViewGeometry {
  ViewGeometry(const Tensor& base, const Tensor& view);
  Shape base_sizes, base_strides, sizes, strides;
  int64_t base_offset, offset;  // the lower of the two is 0
  int64_t extent;               // how many elements of storage both together reach
  /// A tensor of the base's shape, laid out in one dimension as the base is.
  Tensor lay_out(const Tensor& like_base) const;
};
/// Gradient of as_strided with respect to the base: elements that the view holds more than once are summed.
Tensor as_strided_backward(const Tensor& dy, const ViewGeometry& geometry);

}  // namespace tandem
