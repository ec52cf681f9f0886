// Parts of a tensor along a dimension: select, slice, narrow, narrow_copy.
#include "tandem/ops/shape/select_slice.h"

#include <algorithm>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, narrow, narrow_copy, select, slice);

Tensor Tensor::narrow(int64_t d, int64_t start, int64_t length) const {
  Tensor y = core::narrow(*this, d, start, length);
  d = wrap_dim("narrow", d, dim());
  start = start < 0 ? start + size(d) : start;
  return record_view("narrow", std::move(y), *this,
                     [=, sizes = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(sizes, dy.options());
                       dx.narrow(d, start, length).copy_(dy);
                       return {dx};
                     });
}
Tensor Tensor::narrow(int64_t d, const Tensor& start, int64_t length) const {
  TANDEM_CHECK(start.dim() == 0 && is_integer(start.dtype()),
               "narrow: start must be an 0-dim integral Tensor, but has sizes ", start.sizes(), " and dtype ",
               start.dtype());
  return narrow(d, start.item().to<int64_t>(), length);
}
Tensor Tensor::narrow_copy(int64_t d, int64_t start, int64_t length) const {
  return narrow(d, start, length).clone(MemoryFormat::Contiguous);
}
Tensor Tensor::select(int64_t d, int64_t index) const {
  Tensor y = core::select(*this, d, index);
  d = wrap_dim("select", d, dim());
  return record_view("select", std::move(y), *this,
                     [=, sizes = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(sizes, dy.options());
                       dx.select(d, index).copy_(dy);
                       return {dx};
                     });
}
Tensor Tensor::slice(int64_t d, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) const {
  TANDEM_CHECK(dim() > 0, "slice() cannot be applied to a 0-dim tensor");
  TANDEM_CHECK(step > 0, "slice: slice step must be positive, got ", step);
  d = wrap_dim("slice", d, dim());
  const auto clip = [n = size(d)](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t first = clip(start.value_or(0)), last = std::max(first, clip(end.value_or(size(d))));
  if (step == 1) return narrow(d, first, last - first);
  Shape sizes = this->sizes(), strides = this->strides();
  const int64_t count = last > first ? (last - first - 1) / step + 1 : 0;
  sizes[static_cast<size_t>(d)] = count;
  if (count > 1) strides[static_cast<size_t>(d)] *= step;
  Tensor y = core::as_strided(*this, sizes, strides, storage_offset() + first * stride(d));
  return record_view("slice", std::move(y), *this,
                     [=, from = Shape(this->sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       Tensor dx = zeros(from, dy.options());
                       dx.slice(d, first, last, step).copy_(dy);
                       return {dx};
                     });
}

}  // namespace tandem
