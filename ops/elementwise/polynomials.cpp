#include "tandem/ops/elementwise/polynomials.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tandem/autograd/record.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/operands.h"

namespace tandem {
namespace {

void check_precise(const char* op, DType dtype) {
  TANDEM_CHECK_AS(NotImplementedError, !is_half(dtype), op, ": dtype is ", dtype, "; accepted: float32 and float64");
}
Tensor number_for(const Tensor& x, const Scalar& value) {
  return number_beside(x.device(), value, value.is_floating_point() ? kFloat64 : kInt64);
}

/// p_0 = 1, p_1 = first(x), p_{k + 1} = next(k, x, p_k, p_{k - 1}), of which each element takes that of its degree.
template <class First, class Next>
Tensor polynomial(const char* op, const Tensor& given, const Tensor& degrees, First first, Next next) {
  DType dtype = result_type(given, degrees);
  if (!is_floating_point(dtype)) dtype = get_default_dtype();
  check_precise(op, dtype);
  const Shape sizes = broadcast_shapes(op, given.sizes(), degrees.sizes());
  const Device device = common_device(op, given, degrees);
  const Tensor x = given.to(device).to(dtype).expand(sizes), n = degrees.detach().to(kInt64);
  check_not_recorded(op, "the largest degree tells how many steps there are");
  const int64_t steps = n.numel() == 0 ? -1 : n.max().item<int64_t>();
  const Tensor degree = n.to(device);
  Tensor before = ones(sizes, x.options()), here = first(x);
  Tensor y = where(degree == 0, before, zeros(sizes, x.options()));
  for (int64_t k = 1; k <= steps; ++k) {
    y = where(degree == k, here, y);
    if (k == steps) break;
    const Tensor after = next(static_cast<double>(k), x, here, before);
    before = here, here = after;
  }
  return y;
}
Tensor chebyshev_step(double /*k*/, const Tensor& x, const Tensor& here, const Tensor& before) {
  return 2 * x * here - before;
}
/// A Chebyshev polynomial is told by its one of degree 1.
Tensor chebyshev(const char* op, const Tensor& x, const Tensor& n, double slope, double offset) {
  return polynomial(
      op, x, n, [=](const Tensor& x) { return slope * x + offset; }, chebyshev_step);
}
/// Of 2 x - 1, computed in x's floating dtype.
Tensor shifted(const char* op, const Tensor& x, const Tensor& n, double slope, double offset) {
  const Tensor real = x.is_floating_point() ? x : x.to(get_default_dtype());
  return chebyshev(op, 2 * real - 1, n, slope, offset);
}

}  // namespace

Tensor special_chebyshev_polynomial_t(const Tensor& x, const Tensor& n) {
  return chebyshev("special_chebyshev_polynomial_t", x, n, 1, 0);
}
Tensor special_chebyshev_polynomial_u(const Tensor& x, const Tensor& n) {
  return chebyshev("special_chebyshev_polynomial_u", x, n, 2, 0);
}
Tensor special_chebyshev_polynomial_v(const Tensor& x, const Tensor& n) {
  return chebyshev("special_chebyshev_polynomial_v", x, n, 2, -1);
}
Tensor special_chebyshev_polynomial_w(const Tensor& x, const Tensor& n) {
  return chebyshev("special_chebyshev_polynomial_w", x, n, 2, 1);
}
Tensor special_shifted_chebyshev_polynomial_t(const Tensor& x, const Tensor& n) {
  return shifted("special_shifted_chebyshev_polynomial_t", x, n, 1, 0);
}
Tensor special_shifted_chebyshev_polynomial_u(const Tensor& x, const Tensor& n) {
  return shifted("special_shifted_chebyshev_polynomial_u", x, n, 2, 0);
}
Tensor special_shifted_chebyshev_polynomial_v(const Tensor& x, const Tensor& n) {
  return shifted("special_shifted_chebyshev_polynomial_v", x, n, 2, -1);
}
Tensor special_shifted_chebyshev_polynomial_w(const Tensor& x, const Tensor& n) {
  return shifted("special_shifted_chebyshev_polynomial_w", x, n, 2, 1);
}
Tensor special_hermite_polynomial_h(const Tensor& x, const Tensor& n) {
  return polynomial(
      "special_hermite_polynomial_h", x, n, [](const Tensor& x) { return 2 * x; },
      [](double k, const Tensor& x, const Tensor& here, const Tensor& before) {
        return 2 * x * here - 2 * k * before;
      });
}
Tensor special_hermite_polynomial_he(const Tensor& x, const Tensor& n) {
  return polynomial(
      "special_hermite_polynomial_he", x, n, [](const Tensor& x) { return x; },
      [](double k, const Tensor& x, const Tensor& here, const Tensor& before) { return x * here - k * before; });
}
Tensor special_laguerre_polynomial_l(const Tensor& x, const Tensor& n) {
  return polynomial(
      "special_laguerre_polynomial_l", x, n, [](const Tensor& x) { return 1 - x; },
      [](double k, const Tensor& x, const Tensor& here, const Tensor& before) {
        return ((2 * k + 1 - x) * here - k * before) / (k + 1);
      });
}
Tensor special_legendre_polynomial_p(const Tensor& x, const Tensor& n) {
  return polynomial(
      "special_legendre_polynomial_p", x, n, [](const Tensor& x) { return x; },
      [](double k, const Tensor& x, const Tensor& here, const Tensor& before) {
        return ((2 * k + 1) * x * here - k * before) / (k + 1);
      });
}
#define TANDEM_NUMBERS(name, ...)                                                                         \
  Tensor special_##name(const Tensor& x, const Scalar& n) { return special_##name(x, number_for(x, n)); } \
  Tensor special_##name(const Scalar& x, const Tensor& n) { return special_##name(number_for(n, x), n); }
TANDEM_POLYNOMIALS(TANDEM_NUMBERS)
#undef TANDEM_NUMBERS

// ---- on the host
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

using Slope = Tensor (*)(const Tensor& x);
/// Each element's value, computed in float64. slope: the derivative, of public operations; null if there is none.
Tensor on_host(const char* op, const Tensor& given, double (*function)(double), Slope slope = nullptr) {
  const Tensor x = given.is_floating_point() ? given : given.to(get_default_dtype());
  check_precise(op, x.dtype());
  check_not_recorded(op, "the host computes it");
  const Tensor wide = x.detach().to(Device(kCPU), kFloat64, /*non_blocking=*/false, /*copy=*/true).contiguous();
  auto* const begin = wide.data<double>();
  std::transform(begin, begin + wide.numel(), begin, function);
  const Tensor y = wide.to(x.device(), x.dtype());
  if (slope)
    return record(op, y, {x}, {x},
                  [slope](const Context& ctx, const Tensor& dy) -> Grads { return {dy * slope(ctx.saved(0))}; });
  return record(op, y, {x}, {}, [op](const Context&, const Tensor&) -> Grads {
    detail::fail<NotImplementedError>(__FILE__, __LINE__, op, ": it has no derivative");
  });
}
/// e^x K_order(x) for a large x, by its asymptotic series.
double scaled_k_far(double order, double x) {
  double term = 1, sum = 1;
  for (int k = 1; k < 12; ++k) sum += term *= (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
  return std::sqrt(std::numbers::pi / (2 * x)) * sum;
}
double scaled_k(double order, double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kInfinity;
  return x > 100 ? scaled_k_far(order, x) : std::exp(x) * std::cyl_bessel_k(order, x);
}
double k(double order, double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kInfinity;
  return x > 100 ? scaled_k_far(order, x) * std::exp(-x) : std::cyl_bessel_k(order, x);
}
/// By Bessel functions of order 1/3 of z = 2/3 |x|^(3/2).
double airy(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x == 0) return 0.35502805388781723926;  // 3^(-2/3) / Gamma(2/3)
  const double z = 2.0 / 3 * std::pow(std::abs(x), 1.5), third = 1.0 / 3;
  if (x > 0) return std::sqrt(x * third) / std::numbers::pi * k(third, z);
  // Ai(-x) = sqrt(x) / 3 (J_{1/3}(z) + J_{-1/3}(z)), of which the latter is cos(pi / 3) J - sin(pi / 3) Y.
  const double j = std::cyl_bessel_j(third, z), y = std::cyl_neumann(third, z);
  return std::sqrt(-x) * third * (1.5 * j - std::sqrt(0.75) * y);
}

}  // namespace

Tensor special_airy_ai(const Tensor& x) { return on_host("special_airy_ai", x, airy); }
Tensor special_bessel_j0(const Tensor& x) {
  return on_host("special_bessel_j0", x, ::j0, [](const Tensor& x) { return special_bessel_j1(x).neg(); });
}
Tensor special_bessel_j1(const Tensor& x) {
  return on_host("special_bessel_j1", x, ::j1, [](const Tensor& x) {
    const Tensor safe = x.masked_fill(x == 0, 1);  // J1(x) / x is 1/2 at 0
    return special_bessel_j0(x) - where(x == 0, Scalar(0.5), special_bessel_j1(safe) / safe);
  });
}
Tensor special_bessel_y0(const Tensor& x) {
  return on_host(
      "special_bessel_y0", x, [](double x) { return x > 0    ? ::y0(x)
                                                    : x == 0 ? -kInfinity
                                                             : kNan; },
      [](const Tensor& x) { return special_bessel_y1(x).neg(); });
}
Tensor special_bessel_y1(const Tensor& x) {
  return on_host(
      "special_bessel_y1", x, [](double x) { return x > 0    ? ::y1(x)
                                                    : x == 0 ? -kInfinity
                                                             : kNan; },
      [](const Tensor& x) {  // infinite at 0, where both parts are
        return where(x == 0, Scalar(kInfinity), special_bessel_y0(x) - special_bessel_y1(x) / x);
      });
}
Tensor special_modified_bessel_k0(const Tensor& x) {
  return on_host(
      "special_modified_bessel_k0", x, [](double x) { return k(0, x); },
      [](const Tensor& x) { return special_modified_bessel_k1(x).neg(); });
}
Tensor special_modified_bessel_k1(const Tensor& x) {
  return on_host(
      "special_modified_bessel_k1", x, [](double x) { return k(1, x); },
      [](const Tensor& x) { return (special_modified_bessel_k0(x) + special_modified_bessel_k1(x) / x).neg(); });
}
Tensor special_scaled_modified_bessel_k0(const Tensor& x) {
  return on_host("special_scaled_modified_bessel_k0", x, [](double x) { return scaled_k(0, x); });
}
Tensor special_scaled_modified_bessel_k1(const Tensor& x) {
  return on_host("special_scaled_modified_bessel_k1", x, [](double x) { return scaled_k(1, x); });
}
Tensor special_spherical_bessel_j0(const Tensor& x) {
  return on_host("special_spherical_bessel_j0", x, [](double x) {
    return x == 0 ? 1.0 : std::isinf(x) ? 0.0 : std::sin(x) / x;
  });
}

}  // namespace tandem
