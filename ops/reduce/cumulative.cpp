// Cumulative operations along a dimension: cumsum, cumprod, logcumsumexp, cummax and cummin.
#include "tandem/ops/reduce/cumulative.h"

#include <limits>

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, cumprod, cumsum);
TANDEM_CAST_POLICY(none, cummax, cummin, logcumsumexp);

namespace {
Tensor cumsum_impl(const Tensor& x, int64_t dim, bool reverse) {
  const Tensor wide = tandem::is_floating_point(x.dtype()) || x.dtype() == kInt64 ? x : x.to(kInt64);
  if (x.dim() == 0) return wide.clone();
  const Tensor from = detail::as_outer_dim_inner(wide, dim);
  Tensor flat = core::empty(from.sizes(), wide.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), cumsum, from, reverse, flat);
  return record_op(
      "cumsum", core::try_view(flat, x.sizes()), {x}, {},
      [dim, reverse](const BackwardContext&, const Tensor& dy) -> Grads { return {cumsum_impl(dy, dim, !reverse)}; });
}
}  // namespace
Tensor Tensor::cumsum(int64_t dim) const {
  if (const Autocast cast{cast_policy::cumsum, *this}) return cast(*this).cumsum(dim);
  return cumsum_impl(*this, wrap_dim("cumsum", dim, this->dim()), false);
}

namespace {
/// Combines each element with all elements before it. The result is contiguous and without a graph. The CPU has a
/// kernel; other devices take log2(size) steps: after k steps an element is combined with the 2^k - 1 elements before
/// it.
template <class Kernel, class Join> Tensor cumulative_scan(const Tensor& x, int64_t d, Kernel kernel, Join join) {
  const NoGradGuard guard;
  if (kernels::has_cumprod(x.device()) && x.dim() > 0) {
    const Tensor from = detail::as_outer_dim_inner(x, d);
    Tensor flat = core::empty(from.sizes(), x.dtype(), x.device());
    kernel(from, flat);
    return core::try_view(flat, x.sizes());
  }
  if (is_reduced_floating_point(x.dtype())) return cumulative_scan(x.to(kFloat32), d, kernel, join).to(x.dtype());
  Tensor y = x.contiguous();
  for (int64_t step = 1; x.dim() > 0 && step < x.size(d); step *= 2) {
    const int64_t rest = x.size(d) - step;
    y = cat({y.narrow(d, 0, step), join(y.narrow(d, 0, rest), y.narrow(d, step, rest))}, d);
  }
  return y.storage() == x.storage() ? x.clone(MemoryFormat::Contiguous) : y;
}
Tensor reversed_cumsum(const Tensor& x, int64_t d) { return x.flip({d}).cumsum(d).flip({d}); }
/// Returns the gradient of y = cumprod(x). An element x_k before the first 0 gets sum_{i >= k} dy_i y_i / x_k over i
/// before the first 0. The first 0 itself gets the same sum up to the second 0, with y replaced by the product without
/// the first 0. Elements after the first 0 get 0.
Tensor cumprod_backward(const Tensor& dy, const Tensor& x, const Tensor& y, int64_t d) {
  const Tensor zero = x == 0, count = zero.cumsum(d), first = zero & (count == 1);
  const Tensor before = reversed_cumsum((dy * y).masked_fill(count != 0, 0), d) / x.masked_fill(zero, 1);
  const Tensor at = reversed_cumsum((dy * x.masked_fill(first, 1).cumprod(d)).masked_fill(count != 1, 0), d);
  return where(count == 0, before, at.masked_fill(first.logical_not(), 0));
}
/// Returns the gradient of y = cumprod(x), computed with size^2 operations. Unlike the result of cumprod_backward, it
/// can be differentiated again correctly: the derivative for elements after a 0 is not 0.
Tensor cumprod_backward_differentiable(const Tensor& dy, const Tensor& x, const Tensor& y, int64_t d) {
  const int64_t n = x.size(d);
  std::vector<Tensor> columns;
  for (int64_t k = 0; k < n; ++k) {
    Tensor others = k + 1 < n ? cat({ones_like(x.narrow(d, k, 1)), x.narrow(d, k + 1, n - k - 1)}, d).cumprod(d)
                              : ones_like(x.narrow(d, k, 1));
    if (k > 0) others = others * y.narrow(d, k - 1, 1);
    columns.push_back((dy.narrow(d, k, n - k) * others).sum(d, true));
  }
  return cat(columns, d);
}
/// Returns the gradient of y = logcumsumexp(x): sum_{i >= k} dy_i e^(x_k - y_i), computed with logarithms to avoid
/// overflow.
Tensor logcumsumexp_backward(const Tensor& dy, const Tensor& x, const Tensor& y, int64_t d) {
  // computes half types in float32, because differences of logarithms would be too inaccurate
  if (is_reduced_floating_point(x.dtype())) {
    const Tensor wide = x.to(kFloat32);
    return logcumsumexp_backward(dy.to(kFloat32), wide, wide.logcumsumexp(d), d).to(x.dtype());
  }
  const double none =
      x.dtype() == kFloat64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
  const Tensor size = dy.abs().log();
  // Returns the gradient that comes from the elements of dy where mask is true.
  const auto part = [&](const Tensor& mask) {
    const Tensor from_end = (where(mask, size, Scalar(none)) - y).flip({d}).logcumsumexp(d).flip({d});
    return (from_end + x).exp();
  };
  return part(dy > 0) - part(dy < 0);
}
}  // namespace
Tensor Tensor::cumprod(int64_t dim) const {
  if (const Autocast cast{cast_policy::cumprod, *this}) return cast(*this).cumprod(dim);
  const int64_t d = wrap_dim("cumprod", dim, this->dim());
  const Tensor x = is_floating_point() ? *this : to(kInt64);
  const auto kernel = [](const Tensor& from, Tensor& to) { TANDEM_DISPATCH(from.device(), cumprod, from, to); };
  const Tensor y = cumulative_scan(x, d, kernel, [](const Tensor& a, const Tensor& b) { return a * b; });
  return record_op("cumprod", y, {x}, {x, y}, [d](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), y = ctx.saved(1);
    if (x.numel() <= 1 || x.size(d) == 1) return {dy};
    if (!is_grad_enabled()) return {cumprod_backward(dy, x, y, d)};
    if ((x == 0).any().item<bool>()) return {cumprod_backward_differentiable(dy, x, y, d)};
    return {reversed_cumsum(dy * y, d) / x};
  });
}
Tensor Tensor::logcumsumexp(int64_t dim) const {
  const AutocastOffGuard uncast;
  check_accepted_dtype("logcumsumexp", AcceptedDtypes::real, dtype());
  const int64_t d = wrap_dim("logcumsumexp", dim, this->dim());
  const auto kernel = [](const Tensor& from, Tensor& to) { TANDEM_DISPATCH(from.device(), logcumsumexp, from, to); };
  const Tensor y = cumulative_scan(*this, d, kernel, [](const Tensor& a, const Tensor& b) { return a.logaddexp(b); });
  // adding 0 turns a first element of -0 into 0, as in a sum
  if (this->dim() > 0) y.narrow(d, 0, std::min<int64_t>(size(d), 1)).add_(0.0);
  return record_op("logcumsumexp", y, {*this}, {*this, y}, [d](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    if (dy.dim() == 0 || dy.numel() == 0) return {dy};
    return {logcumsumexp_backward(dy, ctx.saved(0), ctx.saved(1), d)};
  });
}

namespace {
/// Takes log2(size) steps: after k steps each element holds the extreme of itself and the 2^k - 1 elements before it.
std::tuple<Tensor, Tensor> cumulative_extreme(const char* op, const Tensor& x, int64_t dim, bool largest) {
  const int64_t d = wrap_dim(op, dim, x.dim());
  if (x.dim() == 0) return {x.clone(), zeros({}, TensorOptions(kInt64).device(x.device()))};
  Tensor at;
  {
    const NoGradGuard guard;
    Tensor y = x.detach();
    at = arange_along_dim(x, d);
    for (int64_t step = 1; step < x.size(d); step *= 2) {
      const int64_t rest = x.size(d) - step;
      const Tensor before = y.narrow(d, 0, rest), here = y.narrow(d, step, rest);
      const Tensor wins = largest ? here >= before : here <= before;
      const Tensor later = (wins & before.eq(before)) | here.ne(here);  // true where `here` is NaN
      y = cat({y.narrow(d, 0, step), where(later, here, before)}, d);
      at = cat({at.narrow(d, 0, step), where(later, at.narrow(d, step, rest), at.narrow(d, 0, rest))}, d);
    }
    at = at.clone(MemoryFormat::Contiguous);
  }
  return {x.gather(d, at), at};
}
}  // namespace
std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return cumulative_extreme("cummax", *this, dim, true); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return cumulative_extreme("cummin", *this, dim, false); }

/// Checks the dtype given for an in-place operation.
static void check_inplace_dtype(const char* op, const Tensor& x, std::optional<DType> dtype) {
  TANDEM_CHECK(!dtype || *dtype == x.dtype(), op, ": provided dtype must match the dtype of self. Got ", *dtype,
               " and ", x.dtype());
}
Tensor& Tensor::cumsum_(int64_t dim, std::optional<DType> dtype) const {
  check_inplace_dtype("cumsum_", self(), dtype);
  return compute_inplace("cumsum_", self(), {}, [&](const Tensor& x) { return x.cumsum(dim); });
}
Tensor& Tensor::cumprod_(int64_t dim, std::optional<DType> dtype) const {
  check_inplace_dtype("cumprod_", self(), dtype);
  return compute_inplace("cumprod_", self(), {}, [&](const Tensor& x) { return x.cumprod(dim); });
}

}  // namespace tandem
