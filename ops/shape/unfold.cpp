// Sliding windows along a dimension, as a view: Tensor::unfold.
#include "tandem/ops/shape/unfold.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, unfold);

Tensor Tensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  const int64_t d = wrap_dim("unfold", dimension, dim()), n = dim() == 0 ? 1 : this->size(d);
  TANDEM_CHECK(size <= n, "unfold: maximum size for tensor at dimension ", d, " is ", n, " but size is ", size);
  TANDEM_CHECK(size >= 0, "unfold: size is ", size, " but must be >= 0");
  TANDEM_CHECK(step > 0, "unfold: step is ", step, " but must be > 0");
  Shape to = sizes(), strides = this->strides();
  const int64_t stride = dim() == 0 ? 1 : this->stride(d), count = (n - size) / step + 1;
  if (dim() > 0) {
    to[static_cast<size_t>(d)] = count;
    strides[static_cast<size_t>(d)] = stride * step;
  }
  to.push_back(size);
  strides.push_back(stride);
  Tensor y = core::as_strided(*this, to, strides, storage_offset());
  return record_view("unfold", std::move(y), *this,
                     [=, sizes = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       if (sizes.empty()) return {dy.sum(-1)};
                       if (size == 0) return {zeros(sizes, dy.options())};
                       // Windows may overlap. Element j of window i is at position i * step + j.
                       const TensorOptions positions = TensorOptions(kInt64).device(dy.device());
                       const Tensor at = arange(count, positions).unsqueeze(1) * step + arange(size, positions);
                       const Tensor flat = dy.movedim(-1, d + 1).flatten(d, d + 1);
                       return {zeros(sizes, dy.options()).index_add(d, at.reshape({-1}), flat)};
                     });
}

}  // namespace tandem
