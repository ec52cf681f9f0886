// Bessel and Airy functions: i0, i0e, i1 and i1e, listed in core/elementwise_ops.h, and the functions that the host
// computes: bessel_j0, bessel_y0, modified_bessel_k0, airy_ai, ...
#include "tandem/ops/elementwise/bessel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, i0, special_airy_ai, special_bessel_j0, special_bessel_j1, special_bessel_y0,
                   special_bessel_y1, special_i0e, special_i1, special_i1e, special_modified_bessel_k0,
                   special_modified_bessel_k1, special_scaled_modified_bessel_k0, special_scaled_modified_bessel_k1,
                   special_spherical_bessel_j0);

namespace {

// ---- listed in core/elementwise_ops.h

namespace derivative {
TANDEM_BESSEL_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
TANDEM_SPECIAL_BESSEL_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
}  // namespace derivative
/// Returns y / x, where y is an odd function of x with slope 1/2 at 0. The quotient at x = 0 is its limit, 1/2.
Tensor divide_odd_function_by_x(const Tensor& y, const Tensor& x) {
  const Tensor zero = x == 0;
  return (y / x.masked_fill(zero, 1)).masked_fill(zero, 0.5);
}
// clang-format off
TANDEM_DEFINE_UNARY_DERIVATIVE(i0)         { return dy * special_i1(s); }
TANDEM_DEFINE_UNARY_DERIVATIVE(special_i0e)   { return dy * (special_i1e(s) - s.sign() * special_i0e(s)); }
TANDEM_DEFINE_UNARY_DERIVATIVE(special_i1)    { return dy * (s.i0() - divide_odd_function_by_x(special_i1(s), s)); }
TANDEM_DEFINE_UNARY_DERIVATIVE(special_i1e)   { const Tensor y = special_i1e(s);
                                         return dy * (special_i0e(s) - s.sign() * y - divide_odd_function_by_x(y, s)); }
// clang-format on
namespace op_descriptor {
TANDEM_BESSEL_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
TANDEM_SPECIAL_BESSEL_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_BESSEL_OPS(TANDEM_DEFINE_UNARY_OP)
TANDEM_SPECIAL_BESSEL_OPS(TANDEM_DEFINE_SPECIAL_OP)

// ---- on the host
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

using Derivative = Tensor (*)(const Tensor& x);
/// Applies `function` to each element on the host, in float64. `compute_derivative` computes the derivative with
/// differentiable operations; it is null if there is no derivative.
Tensor map_elements_on_host(const char* op, const Tensor& given, double (*function)(double),
                            Derivative compute_derivative = nullptr) {
  const Tensor x = given.is_floating_point() ? given : given.to(get_default_dtype());
  check_not_half(op, x.dtype());
  check_not_recorded(op, "the host computes it");
  const Tensor wide = x.detach().to(Device(kCPU), kFloat64, /*non_blocking=*/false, /*copy=*/true).contiguous();
  auto* const begin = wide.data<double>();
  std::transform(begin, begin + wide.numel(), begin, function);
  const Tensor y = wide.to(x.device(), x.dtype());
  if (compute_derivative)
    return record_op(op, y, {x}, {x}, [compute_derivative](const BackwardContext& ctx, const Tensor& dy) -> Grads {
      return {dy * compute_derivative(ctx.saved(0))};
    });
  return record_op(op, y, {x}, {}, [op](const BackwardContext&, const Tensor&) -> Grads {
    detail::throw_error<NotImplementedError>(__FILE__, __LINE__, op,
                                             ": this function has no derivative; detach() its input");
  });
}
/// Returns e^x K_order(x) for large x, from the asymptotic series.
double scaled_bessel_k_asymptotic(double order, double x) {
  double term = 1, sum = 1;
  for (int k = 1; k < 12; ++k) sum += term *= (4 * order * order - (2 * k - 1) * (2 * k - 1)) / (8 * k * x);
  return std::sqrt(std::numbers::pi / (2 * x)) * sum;
}
double scaled_bessel_k(double order, double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kInfinity;
  return x > 100 ? scaled_bessel_k_asymptotic(order, x) : std::exp(x) * std::cyl_bessel_k(order, x);
}
double k(double order, double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return kInfinity;
  return x > 100 ? scaled_bessel_k_asymptotic(order, x) * std::exp(-x) : std::cyl_bessel_k(order, x);
}
/// Returns Ai(x), computed from the Bessel functions of order 1/3 at z = 2/3 |x|^(3/2).
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x == 0) return 0.35502805388781723926;  // the value is Ai(0) = 3^(-2/3) / Gamma(2/3)
  const double z = 2.0 / 3 * std::pow(std::abs(x), 1.5), third = 1.0 / 3;
  if (x > 0) return std::sqrt(x * third) / std::numbers::pi * k(third, z);
  // Ai(-x) = sqrt(x) / 3 (J_{1/3}(z) + J_{-1/3}(z)), and J_{-1/3} = cos(pi / 3) J_{1/3} - sin(pi / 3) Y_{1/3}.
  const double j = std::cyl_bessel_j(third, z), y = std::cyl_neumann(third, z);
  return std::sqrt(-x) * third * (1.5 * j - std::sqrt(0.75) * y);
}

}  // namespace

Tensor special_airy_ai(const Tensor& x) { return map_elements_on_host("special_airy_ai", x, airy_ai); }
Tensor special_bessel_j0(const Tensor& x) {
  return map_elements_on_host("special_bessel_j0", x, ::j0, [](const Tensor& x) { return special_bessel_j1(x).neg(); });
}
Tensor special_bessel_j1(const Tensor& x) {
  return map_elements_on_host("special_bessel_j1", x, ::j1, [](const Tensor& x) {
    const Tensor safe = x.masked_fill(x == 0, 1);  // avoids 0 / 0; the limit of J1(x) / x at 0 is 1/2
    return special_bessel_j0(x) - where(x == 0, Scalar(0.5), special_bessel_j1(safe) / safe);
  });
}
Tensor special_bessel_y0(const Tensor& x) {
  return map_elements_on_host(
      "special_bessel_y0", x, [](double x) { return x > 0    ? ::y0(x)
                                                    : x == 0 ? -kInfinity
                                                             : kNan; },
      [](const Tensor& x) { return special_bessel_y1(x).neg(); });
}
Tensor special_bessel_y1(const Tensor& x) {
  return map_elements_on_host(
      "special_bessel_y1", x, [](double x) { return x > 0    ? ::y1(x)
                                                    : x == 0 ? -kInfinity
                                                             : kNan; },
      [](const Tensor& x) {  // the derivative at 0 is infinite, but Y0 - Y1 / x gives NaN
        return where(x == 0, Scalar(kInfinity), special_bessel_y0(x) - special_bessel_y1(x) / x);
      });
}
Tensor special_modified_bessel_k0(const Tensor& x) {
  return map_elements_on_host(
      "special_modified_bessel_k0", x, [](double x) { return k(0, x); },
      [](const Tensor& x) { return special_modified_bessel_k1(x).neg(); });
}
Tensor special_modified_bessel_k1(const Tensor& x) {
  return map_elements_on_host(
      "special_modified_bessel_k1", x, [](double x) { return k(1, x); },
      [](const Tensor& x) { return (special_modified_bessel_k0(x) + special_modified_bessel_k1(x) / x).neg(); });
}
Tensor special_scaled_modified_bessel_k0(const Tensor& x) {
  return map_elements_on_host("special_scaled_modified_bessel_k0", x, [](double x) { return scaled_bessel_k(0, x); });
}
Tensor special_scaled_modified_bessel_k1(const Tensor& x) {
  return map_elements_on_host("special_scaled_modified_bessel_k1", x, [](double x) { return scaled_bessel_k(1, x); });
}
Tensor special_spherical_bessel_j0(const Tensor& x) {
  return map_elements_on_host("special_spherical_bessel_j0", x, [](double x) {
    return x == 0 ? 1.0 : std::isinf(x) ? 0.0 : std::sin(x) / x;
  });
}

}  // namespace tandem
