#include "tandem/ops/reduce/statistics.h"

#include <cmath>
#include <limits>

#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {

Tensor Tensor::count_nonzero(IntArrayRef dims) const { return (*this != 0).sum(dims); }
Tensor Tensor::nansum(IntArrayRef dims, Flag keepdim) const {
  return is_floating_point() ? tandem::where(isnan(), Scalar(0), *this).sum(dims, keepdim) : sum(dims, keepdim);
}
Tensor Tensor::nanmean(IntArrayRef dims, Flag keepdim) const {
  check_accepted("nanmean", Accepts::real, dtype());
  const Tensor count = (*this == *this).sum(dims, keepdim);
  if (!is_half(dtype())) return nansum(dims, keepdim) / count;
  return (to(kFloat32).nansum(dims, keepdim) / count).to(dtype());  // a half type's sum may not fit it
}
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<int64_t> dim, Flag keepdim) const {
  const Shape dims = dim ? Shape{*dim} : Shape();
  return {amin(dims, keepdim), amax(dims, keepdim)};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, IntArrayRef dims, Flag unbiased, Flag keepdim) {
  return {x.std(dims, unbiased, keepdim), x.mean(dims, keepdim)};
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, IntArrayRef dims, Flag unbiased, Flag keepdim) {
  return {x.var(dims, unbiased, keepdim), x.mean(dims, keepdim)};
}

namespace {
/// The median along dim, which stays, and its position. NaNs come last in order.
std::tuple<Tensor, Tensor> middle(const char* op, const Tensor& x, int64_t dim, bool ignore_nan) {
  check_accepted(op, Accepts::numbers, x.dtype());
  const int64_t n = x.dim() ? x.size(dim) : 1;
  TANDEM_CHECK_AS(IndexError, n > 0, op, ": dimension ", dim, " of ", x.sizes(), " has no elements to choose from");
  if (x.dim() == 0) return {x.clone(), zeros({}, TensorOptions(kInt64).device(x.device()))};
  const auto [values, index] = x.sort(dim);
  if (!x.is_floating_point()) return {values.narrow(dim, (n - 1) / 2, 1), index.narrow(dim, (n - 1) / 2, 1)};
  const Tensor count = x.eq(x).sum(dim, true);  // of numbers: a NaN is unequal to itself
  const Tensor place =
      ignore_nan ? (count - 1).clamp_min(0).floor_divide(2) : where(count < n, count, full_like(count, (n - 1) / 2));
  return {values.gather(dim, place), index.gather(dim, place)};
}
std::tuple<Tensor, Tensor> middle_along(const char* op, const Tensor& x, int64_t dim, bool keepdim, bool ignore_nan) {
  const int64_t d = wrap_dim(op, dim, x.dim());
  const auto [values, index] = middle(op, x, d, ignore_nan);
  if (keepdim || x.dim() == 0) return {values.contiguous(), index.contiguous()};
  Shape left = values.sizes();
  left.erase(static_cast<size_t>(d));
  return {reshape_result(values.contiguous(), left), reshape_result(index.contiguous(), left)};
}
Tensor middle_of_all(const char* op, const Tensor& x, bool ignore_nan) {
  Tensor y;
  if (x.numel() == 0 && x.is_floating_point()) {
    y = full({}, std::numeric_limits<double>::quiet_NaN(), x.options());
  } else {
    const NoGradGuard guard;
    y = std::get<0>(middle(op, x.reshape({-1}), 0, ignore_nan)).reshape({}).clone();
  }
  return record(op, y, {x}, {x, y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), y = ctx.saved(1);
    const Tensor hit = ((x == y) | (x.isnan() & y.isnan())).contiguous();
    return {where(hit, dy / hit.sum(), Scalar(0))};  // contiguous, as in PyTorch
  });
}
}  // namespace
Tensor Tensor::median() const { return middle_of_all("median", *this, false); }
Tensor Tensor::nanmedian() const { return middle_of_all("nanmedian", *this, true); }
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, Flag keepdim) const {
  return middle_along("median", *this, dim, keepdim, false);
}
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, Flag keepdim) const {
  return middle_along("nanmedian", *this, dim, keepdim, true);
}
std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, Flag keepdim) const {
  const int64_t d = wrap_dim("kthvalue", dim, this->dim()), n = this->dim() ? size(d) : 1;
  TANDEM_CHECK(k >= 1 && k <= n, "kthvalue: k is ", k, " for dimension ", d, " of ", sizes(), "; accepted: 1 to ", n);
  const auto [values, index] = sort(d);
  if (this->dim() == 0) return {values, index};
  if (keepdim) return {values.narrow_copy(d, k - 1, 1), index.narrow_copy(d, k - 1, 1)};
  return {values.select(d, k - 1).clone(MemoryFormat::Contiguous),
          index.select(d, k - 1).clone(MemoryFormat::Contiguous)};
}

Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const {
  TANDEM_CHECK(dim() <= 2 && dtype() != kBool, "cov: x is ", dtype(), sizes(),
               "; accepted: numbers of at most two dimensions");
  const Tensor x = (dim() < 2 ? reshape({1, -1}) : *this).to(is_floating_point() ? dtype() : get_default_dtype());
  const int64_t count = x.size(1);
  for (const Tensor& w : {fweights, aweights})
    TANDEM_CHECK(!w.defined() || (w.dim() == 1 && w.numel() == count), "cov: weights are ",
                 w.defined() ? w.sizes() : IntArrayRef(), " for x of ", sizes(), "; accepted: (", count, ",)");
  TANDEM_CHECK(!fweights.defined() || is_integer(fweights.dtype()), "cov: fweights is ", fweights.dtype(),
               "; accepted: integers");
  TANDEM_CHECK(!aweights.defined() || aweights.is_floating_point(), "cov: aweights is ", aweights.dtype(),
               "; accepted: floating point");
  Tensor weights = fweights.defined() ? fweights.to(x.dtype()) : Tensor();
  if (aweights.defined()) weights = weights.defined() ? weights * aweights : aweights;
  Tensor centered, weighted, total;
  if (weights.defined()) {
    const Tensor sum = weights.sum();
    centered = x - (x * weights).sum(1, true) / sum, weighted = centered * weights;
    total = sum - static_cast<double>(correction);
    if (aweights.defined()) total = sum - (weights * aweights).sum() / sum * static_cast<double>(correction);
    total = total.clamp_min(0.0);
  } else {
    centered = x - x.mean(1, true), weighted = centered;
    total = full({}, static_cast<double>(std::max<int64_t>(count - correction, 0)), x.options());
  }
  const Tensor y = centered.mm(weighted.t()) / total;
  return y.numel() == 1 ? reshape_result(y, {}) : y;
}
Tensor Tensor::corrcoef() const {
  TANDEM_CHECK(dim() <= 2, "corrcoef: x is ", sizes(), "; accepted: at most two dimensions");
  const Tensor c = cov();
  if (c.dim() == 0) return c.div(c);
  const Tensor deviation = c.diagonal().sqrt();
  return (c / deviation.unsqueeze(1) / deviation).clamp(-1.0, 1.0);
}

}  // namespace tandem
