// Clamping: clamp, clip, clamp_min, clamp_max, with in-place and out versions.
#include "tandem/ops/elementwise/clamp.h"

#include <cmath>
#include <limits>

#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, clamp);

namespace {
/// Returns the dtype of clamp's result. @throws Error if it is bool
DType clamp_result_type(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  DType type = x.dtype();
  for (const std::optional<Scalar>& bound : {min, max})
    if (bound && dtype_category(bound->dtype()) > dtype_category(type)) type = bound->dtype();
  TANDEM_CHECK(type != kBool, "clamp: dtype is bool; accepted: numbers");
  return type;
}
}  // namespace
Tensor Tensor::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  TANDEM_CHECK(min || max, "clamp: At least one of 'min' or 'max' must not be None");
  if (const DType type = clamp_result_type(*this, min, max); type != dtype()) return to(type).clamp(min, max);
  const Tensor& x = *this;
  // If a bound is missing, or beyond the dtype's range, the limit of the dtype takes its place.
  const auto bound = [&](const std::optional<Scalar>& given, bool is_low) -> Scalar {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (is_floating_point()) return given.value_or(is_low ? -kInfinity : kInfinity);
    return visit_dtype(dtype(), [&]<class T>() -> Scalar {
      if constexpr (std::is_integral_v<T>) {
        const int64_t least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
        const int64_t wanted = given ? given->to_int64() : is_low ? least : most;
        TANDEM_CHECK(is_low ? wanted <= most : wanted >= least, "clamp: ", is_low ? "min" : "max", " is ", wanted,
                     ", which is outside the range of ", dtype(), ", ", least, " to ", most);
        return std::clamp(wanted, least, most);
      } else {
        return 0;
      }
    });
  };
  const Scalar low = bound(min, true), high = bound(max, false);
  Tensor y = core::empty_result(x.sizes(), x.dtype(), x.device(), x);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(low.to_double()) || std::isnan(high.to_double())) {
    TANDEM_DISPATCH(y.device(), fill, nan, y);
    return record_op("clamp", y, {x}, {},
                     [](const BackwardContext&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
  }
  TANDEM_DISPATCH(y.device(), clamp, x, low, high, y);
  return record_op(
      "clamp", y, {x}, {x},
      [low = min.value_or(nan), high = max.value_or(nan)](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        return {clamp_backward(dy, ctx.saved(0), low, high)};
      });
}
Tensor Tensor::clamp(const Tensor& min, const Tensor& max) const {
  TANDEM_CHECK(min.defined() || max.defined(), "clamp: At least one of 'min' or 'max' must not be None");
  for (const Tensor& bound : {min, max})
    if (bound.defined()) {
      broadcast_shapes("clamp", sizes(), bound.sizes());
      common_device("clamp", *this, bound);
    }
  if (!max.defined()) return maximum(min);
  if (!min.defined()) return minimum(max);
  Tensor y;
  {
    const NoGradGuard guard;
    y = to(detail::result_type(*this, min, max)).maximum(min).minimum(max);
  }
  // Where x equals a bound, x and the bound get half the gradient each; if the bounds are equal, x gets all of it. The
  // gradient of a NaN in x goes to x.
  return record_op(
      "clamp", y, {*this, min, max}, {*this, min, max}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        const Tensor x = ctx.saved(0), low = ctx.saved(1), high = ctx.saved(2);
        const Tensor ordered = low <= high, distinct_bounds = low < high;
        const Tensor shared = dy * 0.5;
        Tensor dx, dlow, dhigh;
        if (ctx.needs_grad(0))
          dx = tandem::where((x < low) | (x > high), 0,
                             tandem::where(distinct_bounds & ((x == low) | (x == high)), shared, dy));
        if (ctx.needs_grad(1))
          dlow = tandem::where(ordered & (x < low), dy, tandem::where(distinct_bounds & (x == low), shared, 0));
        if (ctx.needs_grad(2))
          dhigh = tandem::where((ordered & (x > high)) | (low > high), dy,
                                tandem::where(distinct_bounds & (x == high), shared, 0));
        return {dx, dlow, dhigh};
      });
}
Tensor clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high) {
  TANDEM_CHECK(dy.device() == x.device(),
               "clamp_backward: Expected all tensors to be on the same device, but got x is on ", x.device(),
               ", different from other tensors on ", dy.device());
  Tensor dx = core::empty_result(x.sizes(), x.dtype(), x.device(), x, dy);
  TANDEM_DISPATCH(x.device(), clamp_backward, dy, x, low, high, dx);
  return record_op("clamp_backward", dx, {dy}, {x},
                   [low, high](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
                     return {clamp_backward(ddx, ctx.saved(0), low, high)};
                   });
}
Tensor& Tensor::clamp_(std::optional<Scalar> min, std::optional<Scalar> max) const {
  TANDEM_CHECK(min || max, "clamp_: At least one of 'min' or 'max' must not be None");
  TANDEM_CHECK(clamp_result_type(self(), min, max) == dtype(), "clamp_: result type ",
               clamp_result_type(self(), min, max), " can't be cast to the desired output type ", dtype());
  return autograd::run_inplace(
      "clamp_", self(), {}, [&] { copy_elements(detach().clamp(min, max), self()); },
      [&](const Tensor& old) { return old.clone().clamp(min, max); });
}
Tensor& Tensor::clamp_(const Tensor& min, const Tensor& max) const {
  return compute_inplace("clamp_", self(), {min, max}, [&](const Tensor& x) { return x.clamp(min, max); });
}
Tensor& clamp_out(Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  return assign_out("clamp_out", out, x, [&] { return x.clamp(min, max); });
}
Tensor& clip_out(Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max) {
  return assign_out("clip_out", out, x, [&] { return x.clip(min, max); });
}
Tensor& clamp_min_out(Tensor& out, const Tensor& x, const Scalar& bound) {
  return assign_out("clamp_min_out", out, x, [&] { return x.clamp_min(bound); });
}
Tensor& clamp_max_out(Tensor& out, const Tensor& x, const Scalar& bound) {
  return assign_out("clamp_max_out", out, x, [&] { return x.clamp_max(bound); });
}

}  // namespace tandem
