// In-place operations: the out-of-place op of the same name, written back.
#include "tandem/autograd/inplace.h"

#include <limits>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/draw.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"

namespace tandem {
namespace {
using autograd::any_wants_grad;
using autograd::inplace;
using autograd::Old;

/// A binary in-place op must keep x's shape, and its dtype must hold the result's kind.
void check_result(const char* op, const Tensor& x, const Tensor& other, DType result) {
  TANDEM_CHECK(broadcast_shapes(op, x.sizes(), other.sizes()) == x.sizes(), op, ": x is ", x.sizes(), " and the other ",
               other.sizes(), "; x cannot grow");
  const auto kind = [](DType t) { return is_floating_point(t) ? 2 : is_integer(t) ? 1 : 0; };
  TANDEM_CHECK(kind(result) <= kind(x.dtype()), op, ": the result is ", result, ", which x of ", x.dtype(),
               " cannot hold");
}
/// Writes `y` into x when the two differ in dtype.
template <class Op> void directly(Tensor& x, const Tensor& other, Op op) {
  const NoGradGuard guard;
  copy_elements(op(x, other), x);
}

/// Whether the kernel can take `other` as it is: a number on the host may stand beside a GPU's tensor.
bool stands_beside(const Tensor& x, const Tensor& other) {
  return other.dtype() == x.dtype() &&
         (other.device() == x.device() || (x.is_cuda() && other.is_cpu() && other.dim() == 0));
}

}  // namespace

namespace {
Tensor& add_scaled(const char* op, Tensor& x, const Tensor& other, const Scalar& alpha) {
  check_result(op, x, other, result_type(x, other));
  check_alpha(op, result_type(x, other), alpha);
  return inplace(
      op, x, {other},
      [&] {
        if (!stands_beside(x, other) || x.dtype() == kBool)
          return directly(x, other, [&](const Tensor& a, const Tensor& b) { return a.add(b, alpha); });
        const Tensor from = clear_of(x, other);
        TANDEM_DISPATCH(x.device(), add, x, from, alpha, x);
      },
      [&](const Tensor& old) { return old.add(other, alpha).to(x.dtype()); });
}
}  // namespace
Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) { return add_scaled("add_", *this, other, alpha); }
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) {
  check_subtraction("sub_", dtype() == kBool || other.dtype() == kBool);
  return add_scaled("sub_", *this, other, negated(alpha));
}
Tensor& Tensor::mul_(const Tensor& other) {
  check_result("mul_", *this, other, result_type(*this, other));
  return inplace(
      "mul_", *this, {other},
      [&] {
        if (!stands_beside(*this, other))
          return directly(*this, other, [](const Tensor& a, const Tensor& b) { return a.mul(b); });
        const Tensor from = clear_of(*this, other);
        TANDEM_DISPATCH(device(), mul, *this, from, *this);
      },
      [&](const Tensor& old) { return (any_wants_grad({other}) ? old.clone() : old).mul(other).to(dtype()); });
}
Tensor& Tensor::div_(const Tensor& other) {
  check_result("div_", *this, other, tandem::is_floating_point(dtype()) ? dtype() : get_default_dtype());
  return inplace(
      "div_", *this, {other},
      [&] {
        if (!stands_beside(*this, other))
          return directly(*this, other, [](const Tensor& a, const Tensor& b) { return a.div(b); });
        const Tensor from = clear_of(*this, other);
        TANDEM_DISPATCH(device(), div, *this, from, *this);
      },
      [&](const Tensor& old) { return (any_wants_grad({other}) ? old.clone() : old).div(other).to(dtype()); });
}
namespace {
/// The number as a tensor of x's dtype where that holds it.
Tensor number(const char* op, const Tensor& x, const Scalar& s) {
  const bool holds = x.is_floating_point() || (x.dtype() == kBool ? s.is_boolean() : !s.is_floating_point());
  TANDEM_CHECK(holds, op, ": x of ", x.dtype(), " cannot hold ", s);
  return core::scalar(s, x.dtype(), x.is_cuda() ? Device(kCPU) : x.device());
}
}  // namespace
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) { return add_(number("add_", *this, other), alpha); }
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) {
  check_subtraction("sub_", other.is_boolean());
  return sub_(number("sub_", *this, other), alpha);
}
Tensor& Tensor::mul_(const Scalar& other) { return mul_(number("mul_", *this, other)); }
Tensor& Tensor::div_(const Scalar& other) { return div_(number("div_", *this, other)); }

Tensor& write_over(const char* op, Tensor& x, const Tensor& source, bool non_blocking) {
  TANDEM_CHECK(broadcast_shapes(op, source.sizes(), x.sizes()) == x.sizes(), op, ": ", source.sizes(),
               " does not broadcast to ", x.sizes());
  return inplace(
      op, x, {source}, [&] { copy_elements(source, x, non_blocking); },
      [&](const Tensor&) { return source.to(x.device(), x.dtype(), non_blocking).expand(x.sizes()); }, Old::replaced);
}
Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) {
  return write_over("copy_", *this, source, non_blocking);
}
namespace {
Tensor& fill(const char* op, Tensor& x, const Scalar& value) {
  detail::check_holds(op, x.dtype(), value);
  const auto direct = [&] { TANDEM_DISPATCH(x.device(), fill, value, x); };
  if (!x.requires_grad()) {  // elements that are one in memory do no harm here
    direct();
    x.bump_version();
    return x;
  }
  return inplace(
      op, x, {}, direct, [&](const Tensor&) { return full(x.sizes(), value, x.options()); }, Old::replaced);
}
}  // namespace
Tensor& Tensor::fill_(const Scalar& value) { return fill("fill_", *this, value); }
Tensor& Tensor::fill_(const Tensor& value) {
  TANDEM_CHECK(value.dim() == 0, "fill_: value is ", value.sizes(), "; accepted: a tensor of no dimension");
  return write_over("fill_", *this, value, /*non_blocking=*/false);
}
Tensor& Tensor::zero_() { return fill("zero_", *this, 0); }

#define TANDEM_UNARY_INPLACE(name, of_integers)                                                           \
  Tensor& Tensor::name##_() {                                                                             \
    TANDEM_CHECK(is_floating_point() || (of_integers && dtype() != kBool), #name "_: dtype is ", dtype(), \
                 of_integers ? "; accepted: numbers" : "; accepted: floating point");                     \
    return inplace(                                                                                       \
        #name "_", *this, {}, [&] { TANDEM_DISPATCH(device(), name, *this, *this); },                     \
        [&](const Tensor& old) { return old.name(); });                                                   \
  }
TANDEM_UNARY_INPLACE(relu, true)
TANDEM_UNARY_INPLACE(neg, true)
TANDEM_UNARY_INPLACE(exp, false)
TANDEM_UNARY_INPLACE(sqrt, false)
TANDEM_UNARY_INPLACE(sigmoid, false)
TANDEM_UNARY_INPLACE(tanh, false)
#undef TANDEM_UNARY_INPLACE
Tensor& Tensor::clamp_(std::optional<Scalar> min, std::optional<Scalar> max) {
  TANDEM_CHECK(min || max, "clamp_: neither min nor max was given");
  TANDEM_CHECK(clamped_type(*this, min, max) == dtype(), "clamp_: x of ", dtype(), " cannot hold a result of ",
               clamped_type(*this, min, max));
  return inplace(
      "clamp_", *this, {}, [&] { copy_elements(detach().clamp(min, max), *this); },
      [&](const Tensor& old) { return old.clone().clamp(min, max); });
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_fill_: mask is ", mask.dtype(), "; accepted: bool");
  TANDEM_CHECK(broadcast_shapes("masked_fill_", sizes(), mask.sizes()) == sizes(), "masked_fill_: x is ", sizes(),
               " and mask ", mask.sizes(), "; x cannot grow");
  detail::check_holds("masked_fill_", dtype(), value);
  return inplace(
      "masked_fill_", *this, {}, [&] { copy_elements(detach().masked_fill(mask, value), *this); },
      [&](const Tensor& old) { return old.masked_fill(mask, value); });
}

namespace {
/// Random in-place fills replace every element, so the old history ends here.
template <class Fill> Tensor& random(const char* op, Tensor& x, Fill fill) {
  return inplace(
      op, x, {}, [&] { fill(detail::next_draw(x.device(), x.numel()), x); },
      [&](const Tensor&) {
        Tensor fresh = empty_like(x);
        fill(detail::next_draw(x.device(), x.numel()), fresh);
        return fresh;
      },
      Old::replaced);
}
}  // namespace
Tensor& Tensor::uniform_(double low, double high) {
  TANDEM_CHECK(is_floating_point() && low <= high, "uniform_: from ", low, " to ", high, " of ", dtype(),
               "; accepted: a floating dtype and low <= high");
  return random("uniform_", *this, [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), uniform, low, high, d.state, d.offset, y);
  });
}
Tensor& Tensor::normal_(double mean, double std) {
  TANDEM_CHECK(is_floating_point() && std >= 0, "normal_: standard deviation ", std, " of ", dtype(),
               "; accepted: a floating dtype and std >= 0");
  return random("normal_", *this, [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), normal, mean, std, d.state, d.offset, y);
  });
}
Tensor& Tensor::bernoulli_(double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, "bernoulli_: p is ", p, "; accepted: 0 to 1");
  return random("bernoulli_", *this, [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), bernoulli, p, d.state, d.offset, y);
  });
}
Tensor& Tensor::random_(int64_t low, int64_t high) {
  TANDEM_CHECK(low < high, "random_: from ", low, " to ", high, " holds no integer");
  if (!tandem::is_floating_point(dtype())) {
    const int64_t most = visit_dtype(dtype(), []<class T>() -> int64_t {
      if constexpr (std::is_integral_v<T>) return std::numeric_limits<T>::max();
      return 0;
    });
    const int64_t least = dtype() == kBool || dtype() == kUInt8 ? 0 : -most - 1;
    TANDEM_CHECK(low >= least && high - 1 <= most, "random_: from ", low, " to ", high, " is more than ", dtype(),
                 " holds; accepted: from ", least, " to ", most);
  }
  return random("random_", *this, [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), randint, low, high, d.state, d.offset, y);
  });
}

}  // namespace tandem
