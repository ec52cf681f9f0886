// where, masked_fill and clamp: one of several operands at each place.
#include <cmath>
#include <limits>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce/reduce.h"

namespace tandem {
using namespace detail;

namespace {
Tensor choose(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b, bool row_major = false) {
  TANDEM_CHECK(condition.dtype() == kBool, op, ": condition is ", condition.dtype(), "; accepted: bool");
  const Operands o = prepare(op, a, b);
  const Device device = common_device(op, condition, o.device.is_cuda() == a.is_cuda() ? a : b);
  const Shape sizes = broadcast_shapes(op, condition.sizes(), o.sizes);
  Tensor y = row_major ? core::empty(sizes, o.a.dtype(), device)
                       : core::empty_for(sizes, o.a.dtype(), device, condition, o.a, o.b);
  TANDEM_DISPATCH(y.device(), where, condition, o.a, o.b, y);
  return record("where", y, {o.a, o.b}, {condition}, [row_major](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor condition = ctx.saved(0);
    if (row_major) return {Tensor(), dy.masked_fill(condition, 0)};
    return {ctx.needs_grad(0) ? where(condition, dy, Scalar(0)) : Tensor(),
            ctx.needs_grad(1) ? where(condition, Scalar(0), dy) : Tensor()};
  });
}
}  // namespace
namespace {
/// check_holds, but where's numbers become infinite in a half type, as in PyTorch.
void check_chosen(DType type, const Scalar& s) {
  if (!is_half(type)) check_holds("where", type, s);
}
}  // namespace
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) { return choose("where", condition, a, b); }
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b) {
  check_chosen(result_type(b, a), a);
  return where(condition, beside(b, a), b);
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  check_chosen(result_type(a, b), b);
  return where(condition, a, beside(a, b));
}
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b) {
  const DType dtype = promote_types(a.dtype(), b.dtype());
  return where(condition, number_beside(condition.device(), a, dtype), number_beside(condition.device(), b, dtype));
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tandem::where(condition, *this, other);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_fill: mask is ", mask.dtype(), "; accepted: bool");
  check_holds("masked_fill", dtype(), value);
  return choose("masked_fill", mask, number_beside(device(), value, dtype()), *this,
                /*row_major=*/true);  // as in PyTorch, and its gradient too
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  TANDEM_CHECK(value.dim() == 0, "masked_fill: value is ", value.sizes(), "; accepted: a tensor of no dimension");
  const Tensor held = placed(value, device()).to(dtype());
  return choose("masked_fill", mask, held, *this, /*row_major=*/!autograd::wants_grad(held));
}

DType clamped_type(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  DType type = x.dtype();
  for (const std::optional<Scalar>& bound : {min, max})
    if (bound && category(bound->dtype()) > category(type)) type = bound->dtype();
  TANDEM_CHECK(type != kBool, "clamp: dtype is bool; accepted: numbers");
  return type;
}
Tensor Tensor::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  TANDEM_CHECK(min || max, "clamp: neither min nor max was given");
  if (const DType type = clamped_type(*this, min, max); type != dtype()) return to(type).clamp(min, max);
  const Tensor& x = *this;
  // A bound that is missing, or beyond what the dtype holds, is the dtype's own.
  const auto bound = [&](const std::optional<Scalar>& given, bool is_low) -> Scalar {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (is_floating_point()) return given.value_or(is_low ? -kInfinity : kInfinity);
    return visit_dtype(dtype(), [&]<class T>() -> Scalar {
      if constexpr (std::is_integral_v<T>) {
        const int64_t least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
        const int64_t wanted = given ? given->to_int64() : is_low ? least : most;
        TANDEM_CHECK(is_low ? wanted <= most : wanted >= least, "clamp: ", is_low ? "min" : "max", " is ", wanted,
                     ", which is more than ", dtype(), " holds; accepted: ", least, " to ", most);
        return std::clamp(wanted, least, most);
      } else {
        return 0;
      }
    });
  };
  const Scalar low = bound(min, true), high = bound(max, false);
  Tensor y = core::empty_for(x.sizes(), x.dtype(), x.device(), x);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(low.to_double()) || std::isnan(high.to_double())) {
    TANDEM_DISPATCH(y.device(), fill, nan, y);
    return record("clamp", y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
  }
  TANDEM_DISPATCH(y.device(), clamp, x, low, high, y);
  return record("clamp", y, {x}, {x},
                [low = min.value_or(nan), high = max.value_or(nan)](const Context& ctx, const Tensor& dy) -> Grads {
                  return {clamp_backward(dy, ctx.saved(0), low, high)};
                });
}
Tensor Tensor::clamp(const Tensor& min, const Tensor& max) const {
  TANDEM_CHECK(min.defined() || max.defined(), "clamp: neither min nor max was given");
  for (const Tensor& bound : {min, max})
    if (bound.defined()) broadcast_shapes("clamp", sizes(), bound.sizes()), common_device("clamp", *this, bound);
  if (!max.defined()) return maximum(min);
  if (!min.defined()) return minimum(max);
  Tensor y;
  {
    const NoGradGuard guard;
    y = to(detail::result_type(*this, min, max)).maximum(min).minimum(max);
  }
  // At a bound x shares the gradient with it, half to each, unless the bounds are equal. A NaN is passed on by x.
  return record("clamp", y, {*this, min, max}, {*this, min, max}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), low = ctx.saved(1), high = ctx.saved(2);
    const Tensor ordered = low <= high, apart = low < high;
    const Tensor shared = dy * 0.5;
    Tensor dx, dlow, dhigh;
    if (ctx.needs_grad(0))
      dx = tandem::where((x < low) | (x > high), 0, tandem::where(apart & ((x == low) | (x == high)), shared, dy));
    if (ctx.needs_grad(1)) dlow = tandem::where(ordered & (x < low), dy, tandem::where(apart & (x == low), shared, 0));
    if (ctx.needs_grad(2))
      dhigh = tandem::where((ordered & (x > high)) | (low > high), dy, tandem::where(apart & (x == high), shared, 0));
    return {dx, dlow, dhigh};
  });
}
Tensor clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high) {
  TANDEM_CHECK(dy.device() == x.device(), "clamp_backward: dy is on ", dy.device(), " and x on ", x.device(),
               "; both must be on one device");
  Tensor dx = core::empty_for(x.sizes(), x.dtype(), x.device(), x, dy);
  TANDEM_DISPATCH(x.device(), clamp_backward, dy, x, low, high, dx);
  return record("clamp_backward", dx, {dy}, {x}, [low, high](const Context& ctx, const Tensor& ddx) -> Grads {
    return {clamp_backward(ddx, ctx.saved(0), low, high)};
  });
}

}  // namespace tandem
