// In-place operations: the out-of-place op of the same name, written back.
#include "tandem/autograd/inplace.h"

#include <limits>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/generator.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"

namespace tandem {
namespace {
using autograd::any_wants_grad;
using autograd::inplace;

/// A binary in-place op must keep x's shape, and its dtype must hold the result's kind.
void check_result(const char* op, const Tensor& x, const Tensor& other, DType result) {
  TANDEM_CHECK(broadcast_shapes(op, x.sizes(), other.sizes()) == x.sizes(), op, "_: x is ", x.sizes(),
               " and the other ", other.sizes(), "; x cannot grow");
  TANDEM_CHECK(is_floating_point(x.dtype()) || !is_floating_point(result), op, "_: the result is ", result,
               ", which x of ", x.dtype(), " cannot hold");
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

Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) {
  check_result("add", *this, other, result_type(*this, other));
  return inplace(
      "add_", *this, {other},
      [&] {
        if (!stands_beside(*this, other) || dtype() == kBool)
          return directly(*this, other, [&](const Tensor& a, const Tensor& b) { return a.add(b, alpha); });
        const Tensor from = clear_of(*this, other);
        TANDEM_DISPATCH(device(), add, *this, from, alpha, *this);
      },
      [&](const Tensor& old) { return old.add(other, alpha).to(dtype()); });
}
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) {
  return add_(other, alpha.is_floating_point() ? Scalar(-alpha.to_double()) : Scalar(-alpha.to_int64()));
}
Tensor& Tensor::mul_(const Tensor& other) {
  check_result("mul", *this, other, result_type(*this, other));
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
  check_result("div", *this, other, tandem::is_floating_point(dtype()) ? dtype() : get_default_dtype());
  return inplace(
      "div_", *this, {other},
      [&] {
        if (!stands_beside(*this, other))
          return directly(*this, other, [](const Tensor& a, const Tensor& b) { return a.div(b); });
        const Tensor from = clear_of(*this, other);
        TANDEM_DISPATCH(device(), div, *this, from, *this);
      },
      [&](const Tensor& old) { return old.div(other).to(dtype()); });
}
namespace {
/// The number as a tensor of x's dtype where that holds it.
Tensor number(const char* op, const Tensor& x, const Scalar& s) {
  TANDEM_CHECK(x.is_floating_point() || !s.is_floating_point(), op, "_: x of ", x.dtype(), " cannot hold ", s);
  return core::scalar(s, x.dtype(), x.is_cuda() ? Device(kCPU) : x.device());
}
}  // namespace
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) { return add_(number("add", *this, other), alpha); }
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) { return sub_(number("sub", *this, other), alpha); }
Tensor& Tensor::mul_(const Scalar& other) { return mul_(number("mul", *this, other)); }
Tensor& Tensor::div_(const Scalar& other) { return div_(number("div", *this, other)); }

Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) {
  return inplace(
      "copy_", *this, {source}, [&] { copy_elements(source, *this, non_blocking); },
      [&](const Tensor&) { return source.to(device(), dtype(), non_blocking).expand(sizes()); });
}
Tensor& Tensor::fill_(const Scalar& value) {
  const auto direct = [&] { TANDEM_DISPATCH(device(), fill, value, *this); };
  if (!requires_grad()) {  // elements that are one in memory do no harm here
    direct();
    bump_version();
    return *this;
  }
  return inplace("fill_", *this, {}, direct, [&](const Tensor&) { return full(sizes(), value, options()); });
}
Tensor& Tensor::zero_() { return fill_(0); }

#define TANDEM_UNARY_INPLACE(name, of_integers)                                                                    \
  Tensor& Tensor::name##_() {                                                                                      \
    TANDEM_CHECK(of_integers || is_floating_point(), #name "_: dtype is ", dtype(), "; accepted: floating point"); \
    return inplace(                                                                                                \
        #name "_", *this, {}, [&] { TANDEM_DISPATCH(device(), name, *this, *this); },                              \
        [&](const Tensor& old) { return old.name(); });                                                            \
  }
TANDEM_UNARY_INPLACE(relu, true)
TANDEM_UNARY_INPLACE(neg, true)
TANDEM_UNARY_INPLACE(exp, false)
TANDEM_UNARY_INPLACE(sqrt, false)
TANDEM_UNARY_INPLACE(sigmoid, false)
TANDEM_UNARY_INPLACE(tanh, false)
#undef TANDEM_UNARY_INPLACE
Tensor& Tensor::clamp_(std::optional<Scalar> min, std::optional<Scalar> max) {
  return inplace(
      "clamp_", *this, {}, [&] { copy_elements(detach().clamp(min, max), *this); },
      [&](const Tensor& old) { return old.clone().clamp(min, max); });
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) {
  return inplace(
      "masked_fill_", *this, {}, [&] { copy_elements(detach().masked_fill(mask, value), *this); },
      [&](const Tensor& old) { return old.masked_fill(mask, value); });
}

namespace {
/// Random in-place fills replace every element, so the old history ends here.
template <class Fill> Tensor& random(const char* op, Tensor& x, Fill fill) {
  return inplace(
      op, x, {}, [&] { fill(default_generator(x.device()).reserve(static_cast<uint64_t>(x.numel())), x); },
      [&](const Tensor&) {
        Tensor fresh = empty_like(x);
        fill(default_generator(x.device()).reserve(static_cast<uint64_t>(x.numel())), fresh);
        return fresh;
      });
}
}  // namespace
Tensor& Tensor::uniform_(double low, double high) {
  TANDEM_CHECK(is_floating_point() && low <= high, "uniform_: from ", low, " to ", high, " of ", dtype(),
               "; accepted: a floating dtype and low <= high");
  return random("uniform_", *this,
                [&](PhiloxState r, Tensor& y) { TANDEM_DISPATCH(y.device(), uniform, low, high, r, y); });
}
Tensor& Tensor::normal_(double mean, double std) {
  TANDEM_CHECK(is_floating_point() && std >= 0, "normal_: standard deviation ", std, " of ", dtype(),
               "; accepted: a floating dtype and std >= 0");
  return random("normal_", *this,
                [&](PhiloxState r, Tensor& y) { TANDEM_DISPATCH(y.device(), normal, mean, std, r, y); });
}
Tensor& Tensor::bernoulli_(double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, "bernoulli_: p is ", p, "; accepted: 0 to 1");
  return random("bernoulli_", *this,
                [&](PhiloxState r, Tensor& y) { TANDEM_DISPATCH(y.device(), bernoulli, p, r, y); });
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
  return random("random_", *this,
                [&](PhiloxState r, Tensor& y) { TANDEM_DISPATCH(y.device(), randint, low, high, r, y); });
}

}  // namespace tandem
