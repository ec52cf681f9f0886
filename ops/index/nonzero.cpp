// Non-zero elements: nonzero, nonzero_static, nonzero_numpy, count_nonzero and is_nonzero.
#include "tandem/ops/index/nonzero.h"

#include "tandem/kernels/index.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, count_nonzero, nonzero, nonzero_numpy, nonzero_static);

Tensor nonzero(const Tensor& x) {
  check_not_recorded("nonzero", "the number of rows depends on the values");
  const NoGradGuard guard;
  const Tensor mask = (x.dtype() == kBool ? x : x != 0).contiguous();
  Tensor positions;
  TANDEM_DISPATCH(x.device(), nonzero, mask, positions);
  return positions;
}
Tensor Tensor::nonzero() const { return tandem::nonzero(*this); }
std::vector<Tensor> Tensor::nonzero_numpy() const { return tandem::where(*this); }
Tensor Tensor::nonzero_static(int64_t size, int64_t fill_value) const {
  TANDEM_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer, got ", size);
  const NoGradGuard guard;
  const TensorOptions options = TensorOptions(kInt64).device(device());
  const Tensor hit = (*this != 0).reshape({-1}), position = hit.to(kInt64).cumsum(0) - 1;
  // The k-th non-zero element goes to row k; all other elements go to an extra row at the end, which is cut off.
  const Tensor row = tandem::where(hit & (position < size), position, size);
  Tensor at = full({size + 1}, -1, options).scatter(0, row, arange(numel(), options)).narrow(0, 0, size);
  const Tensor none = at < 0;
  const Tensor y = empty({size, dim()}, options);
  for (int64_t d = dim() - 1; d >= 0; --d) {
    const int64_t n = std::max<int64_t>(this->size(d), 1);
    y.select(1, d).copy_(at.remainder(n).masked_fill(none, fill_value));
    at = at.floor_divide(n);
  }
  return y;
}
Tensor Tensor::count_nonzero(IntArrayRef dims) const { return (*this != 0).sum(dims); }

bool Tensor::is_nonzero() const {
  TANDEM_CHECK(numel() > 0, "is_nonzero: Boolean value of Tensor with no values is ambiguous; accepted: one element");
  TANDEM_CHECK(numel() == 1, "is_nonzero: Boolean value of Tensor with more than one value is ambiguous, got ", sizes(),
               "; accepted: one element");
  const Scalar value = item();
  return value.is_floating_point() ? value.to_double() != 0 : value.to_int64() != 0;
}

}  // namespace tandem
