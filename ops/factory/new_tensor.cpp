// New tensors with the dtype and device of another: the methods new_empty, new_empty_strided, new_full, new_ones,
// new_zeros.
#include "tandem/ops/define_op.h"
#include "tandem/ops/factory/make_empty.h"

namespace tandem {

Tensor Tensor::new_empty(IntArrayRef sizes, const TensorOptions& options) const {
  return empty(sizes, merge_options(*this, options));
}
Tensor Tensor::new_empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) const {
  return empty_strided(sizes, strides, merge_options(*this, options));
}
Tensor Tensor::new_full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) const {
  return full(sizes, value, merge_options(*this, options));
}
Tensor Tensor::new_ones(IntArrayRef sizes, const TensorOptions& options) const {
  return ones(sizes, merge_options(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef sizes, const TensorOptions& options) const {
  return zeros(sizes, merge_options(*this, options));
}

}  // namespace tandem
