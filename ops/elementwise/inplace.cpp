// In-place operations: the out-of-place op of the same name, written back.
#include "tandem/autograd/inplace.h"

#include <limits>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/elementwise/formula_inplace.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/random/draw.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {
namespace {
using autograd::inplace;
using autograd::Old;

}  // namespace

Tensor& write_over(const char* op, Tensor& x, const Tensor& source, bool non_blocking) {
  TANDEM_CHECK(broadcast_shapes(op, source.sizes(), x.sizes()) == x.sizes(), op, ": ", source.sizes(),
               " does not broadcast to ", x.sizes());
  return inplace(
      op, x, {source}, [&] { copy_elements(source, x, non_blocking); },
      [&](const Tensor&) { return source.to(x.device(), x.dtype(), non_blocking).expand(x.sizes()); }, Old::replaced);
}
Tensor& Tensor::copy_(const Tensor& source, bool non_blocking) const {
  return write_over("copy_", self(), source, non_blocking);
}
namespace {
Tensor& fill(const char* op, Tensor& x, const Scalar& value) {
  check_changeable(op, x);
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
Tensor& Tensor::fill_(const Scalar& value) const { return fill("fill_", self(), value); }
Tensor& Tensor::fill_(const Tensor& value) const {
  TANDEM_CHECK(value.dim() == 0, "fill_: value is ", value.sizes(), "; accepted: a tensor of no dimension");
  return write_over("fill_", self(), value, /*non_blocking=*/false);
}
Tensor& Tensor::zero_() const { return fill("zero_", self(), 0); }

Tensor& Tensor::clamp_(std::optional<Scalar> min, std::optional<Scalar> max) const {
  TANDEM_CHECK(min || max, "clamp_: neither min nor max was given");
  TANDEM_CHECK(clamped_type(self(), min, max) == dtype(), "clamp_: x of ", dtype(), " cannot hold a result of ",
               clamped_type(self(), min, max));
  return inplace(
      "clamp_", self(), {}, [&] { copy_elements(detach().clamp(min, max), self()); },
      [&](const Tensor& old) { return old.clone().clamp(min, max); });
}
Tensor& Tensor::clamp_(const Tensor& min, const Tensor& max) const {
  return formula_inplace("clamp_", self(), {min, max}, [&](const Tensor& x) { return x.clamp(min, max); });
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  return formula_inplace("masked_fill_", self(), {value}, [&](const Tensor& x) { return x.masked_fill(mask, value); });
}
Tensor fill(const Tensor& x, const Scalar& value) { return x.clone().fill_(value); }
Tensor fill(const Tensor& x, const Tensor& value) { return x.clone().fill_(value); }
Tensor zero(const Tensor& x) { return x.clone().zero_(); }
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_fill_: mask is ", mask.dtype(), "; accepted: bool");
  TANDEM_CHECK(broadcast_shapes("masked_fill_", sizes(), mask.sizes()) == sizes(), "masked_fill_: x is ", sizes(),
               " and mask ", mask.sizes(), "; x cannot grow");
  detail::check_holds("masked_fill_", dtype(), value);
  return inplace(
      "masked_fill_", self(), {}, [&] { copy_elements(detach().masked_fill(mask, value), self()); },
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
Tensor& Tensor::uniform_(double low, double high) const {
  TANDEM_CHECK(is_floating_point() && low <= high, "uniform_: from ", low, " to ", high, " of ", dtype(),
               "; accepted: a floating dtype and low <= high");
  return random("uniform_", self(), [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), uniform, low, high, d.state, d.offset, y);
  });
}
Tensor& Tensor::normal_(double mean, double std) const {
  TANDEM_CHECK(is_floating_point() && std >= 0, "normal_: standard deviation ", std, " of ", dtype(),
               "; accepted: a floating dtype and std >= 0");
  return random("normal_", self(), [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), normal, mean, std, d.state, d.offset, y);
  });
}
Tensor& Tensor::bernoulli_(double p) const {
  TANDEM_CHECK(p >= 0 && p <= 1, "bernoulli_: p is ", p, "; accepted: 0 to 1");
  return random("bernoulli_", self(), [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), bernoulli, p, d.state, d.offset, y);
  });
}
Tensor& Tensor::random_(int64_t low, int64_t high) const {
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
  return random("random_", self(), [&](const detail::Draw& d, Tensor& y) {
    TANDEM_DISPATCH(y.device(), randint, low, high, d.state, d.offset, y);
  });
}

}  // namespace tandem
