// Special functions that are made of other operations.
#include "tandem/ops/elementwise/special.h"

#include <cmath>
#include <numbers>

#include "tandem/ops/factory/factory.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/out.h"

namespace tandem {
using namespace detail;

Tensor Tensor::polygamma(int64_t n) const {
  TANDEM_CHECK(n >= 0, "polygamma: n is ", n, "; accepted: 0 or more");
  const Tensor x = floating(*this);
  if (n == 0) return x.digamma();
  Tensor y;
  {
    const NoGradGuard guard;  // by the zeta function (Abramowitz and Stegun 6.4.10)
    y = special_zeta(Scalar(n + 1), x) * ((n % 2 == 1 ? 1 : -1) * std::tgamma(static_cast<double>(n) + 1));
  }
  return record("polygamma", y, {x}, {x},
                [n](const Context& ctx, const Tensor& dy) -> Grads { return {dy * ctx.saved(0).polygamma(n + 1)}; });
}
Tensor Tensor::mvlgamma(int64_t p) const {
  TANDEM_CHECK(p >= 1, "mvlgamma: p is ", p, "; accepted: 1 or more");
  const Tensor x = floating(*this);
  Tensor y = x.lgamma();
  for (int64_t j = 1; j < p; ++j) y = y + (x - 0.5 * static_cast<double>(j)).lgamma();
  return y + 0.25 * static_cast<double>(p * (p - 1)) * std::log(std::numbers::pi);
}
std::tuple<Tensor, Tensor> Tensor::frexp() const {
  check_accepted("frexp", Accepts::real, dtype());
  Tensor mantissa, exponent;
  {
    const NoGradGuard guard;
    const Tensor wide = dtype() == kFloat64 ? *this : to(kFloat32), size = wide.abs();
    const Tensor usual = size.isfinite() & (size != 0), safe = tandem::where(usual, size, Scalar(1));
    // The logarithm is rounded, and may be a whole number too large or too small. 2^-e is two powers of which neither
    // overflows.
    const Tensor e = safe.log2().floor() + 1, half = (e * 0.5).floor();
    const Tensor m = safe * half.neg().exp2() * (half - e).exp2(), large = m >= 1, small = m < 0.5;
    const Tensor fraction = tandem::where(large, m * 0.5, tandem::where(small, m * 2, m));
    mantissa = tandem::where(usual, fraction.copysign(wide), wide).to(dtype());
    exponent = tandem::where(usual, e + large.to(e.dtype()) - small.to(e.dtype()), Scalar(0)).to(kInt32);
  }
  return record("frexp", std::tuple(mantissa, exponent), {*this}, {exponent},
                [](const Context& ctx, const Grads& dy) -> Grads {
                  const DType wide = dy[0].dtype() == kFloat64 ? kFloat64 : kFloat32;
                  return {(dy[0].to(wide) / ctx.saved(0).to(wide).exp2()).to(dy[0].dtype())};
                });
}

Tensor special_entr(const Tensor& input) {
  const Tensor x = floating(input);
  Tensor y;
  {
    const NoGradGuard guard;
    y = where(x == 0, 0, where(x < 0, Scalar(-INFINITY), x.neg() * x.log()));
  }
  return record("special_entr", y, {x}, {x},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {dy * (-1 - ctx.saved(0).log())}; });
}
Tensor special_ndtr(const Tensor& x) { return (floating(x) * -(0.5 * std::numbers::sqrt2)).erfc() * 0.5; }
Tensor special_log_ndtr(const Tensor& input) {
  const Tensor x = floating(input), far = x < -1, t = x * (0.5 * std::numbers::sqrt2);
  const Tensor below = (special_erfcx(where(far, -t, Scalar(1))) * 0.5).log() - t * t;
  const Tensor above = (where(far, Scalar(0), t).erfc() * -0.5).log1p();
  return where(far, below, above);
}
Tensor special_xlog1py(const Tensor& x, const Tensor& y) {
  const Operands o = prepare("special_xlog1py", x, y, /*to_floating=*/true);
  Tensor z;
  {
    const NoGradGuard guard;
    z = where((o.a == 0) & ~o.b.isnan(), Scalar(0), o.a * o.b.log1p());
  }
  return record("special_xlog1py", z, {o.a, o.b}, {o.a, o.b}, [](const Context& ctx, const Tensor& dz) -> Grads {
    const Tensor a = ctx.saved(0), b = ctx.saved(1);
    return {ctx.needs_grad(0) ? special_xlog1py(dz, b).masked_fill((a == 0) & (b <= -1), 0) : Tensor(),
            ctx.needs_grad(1) ? dz * a / (b + 1) : Tensor()};
  });
}
Tensor special_xlog1py(const Tensor& x, const Scalar& y) { return special_xlog1py(x, beside_divided(x, y)); }
Tensor special_xlog1py(const Scalar& x, const Tensor& y) { return special_xlog1py(beside_divided(y, x), y); }

#define TANDEM_OUT(name)                                              \
  Tensor& name##_out(Tensor& out, const Tensor& x) {                  \
    return assign_out(#name "_out", out, x, [&] { return name(x); }); \
  }
TANDEM_OUT(special_entr)
TANDEM_OUT(special_ndtr)
TANDEM_OUT(special_log_ndtr)
Tensor& special_xlog1py_out(Tensor& out, const Tensor& x, const Tensor& y) {
  return assign_out("special_xlog1py_out", out, {x, y}, [&] { return special_xlog1py(x, y); });
}
Tensor& special_xlog1py_out(Tensor& out, const Tensor& x, const Scalar& y) {
  return assign_out("special_xlog1py_out", out, x, [&] { return special_xlog1py(x, y); });
}
Tensor& special_xlog1py_out(Tensor& out, const Scalar& x, const Tensor& y) {
  return assign_out("special_xlog1py_out", out, y, [&] { return special_xlog1py(x, y); });
}

}  // namespace tandem
