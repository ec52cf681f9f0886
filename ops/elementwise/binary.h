// Functions of two tensors, element by element: mul, div, pow, fmod, remainder, floor_divide, maximum, minimum, fmax,
// fmin, atan2, hypot, copysign, heaviside, xlogy, ldexp, float_power, nextafter, gcd, lcm. add and sub, comparisons,
// logical_and, ... and bitwise_and, ... have files of their own. Operands broadcast, and dtypes promote as in PyTorch:
// dimensions before 0-dim tensors before plain numbers, and bool before integers before floating point. Gradients are
// of floating dtypes. A number beside a tensor of integers wraps in their dtype, but not where it stays as it is
// (alpha, a power, a value to fill in): there one that does not fit is an error. So are subtraction of bools, integers
// to negative powers that are plain numbers, and (on the CPU, or by a number) integers divided by 0 with floor_divide,
// remainder and fmod.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what they compute.
TANDEM_ARITHMETIC_OPS(TANDEM_DECLARE_BINARY_OP)
TANDEM_GCD_OPS(TANDEM_DECLARE_BINARY_OP)
// Other spellings.
TANDEM_ARITHMETIC_ALIASES(TANDEM_DECLARE_BINARY_ALIAS)
/// A number to the power of each element.
Tensor pow(const Scalar& base, const Tensor& exponent);
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent);
/// In place: x becomes the result.
inline Tensor& gcd_(Tensor& a, const Tensor& b) { return a.gcd_(b); }
inline Tensor& lcm_(Tensor& a, const Tensor& b) { return a.lcm_(b); }

/// a / b, rounded down ("floor") or towards 0 ("trunc"): of integers an integer, with the divisors of floor_divide. The
/// gradient is then 0. @throws Error for any other rounding_mode, and where both are bool
inline Tensor div(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
inline Tensor div(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
inline Tensor divide(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
inline Tensor divide(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode) {
  return a.div(b, rounding_mode);
}
/// sqrt(a^2 + b^2), without overflow, of floating-point numbers; its slope at (0, 0) is NaN
inline Tensor hypot(const Tensor& a, const Tensor& b) { return a.hypot(b); }
/// |a| with the sign of b, of -0 too; a NaN counts as positive. Its slope at a = 0 is 0.
inline Tensor copysign(const Tensor& a, const Tensor& b) { return a.copysign(b); }
inline Tensor copysign(const Tensor& a, const Scalar& b) { return a.copysign(b); }
/// a ln(b), which is 0 where a is 0, unless b is NaN
inline Tensor xlogy(const Tensor& a, const Tensor& b) { return a.xlogy(b); }
inline Tensor xlogy(const Tensor& a, const Scalar& b) { return a.xlogy(b); }
Tensor xlogy(const Scalar& a, const Tensor& b);
/// x^exponent in float64
inline Tensor float_power(const Tensor& x, const Tensor& exponent) { return x.float_power(exponent); }
inline Tensor float_power(const Tensor& x, const Scalar& exponent) { return x.float_power(exponent); }
Tensor float_power(const Scalar& x, const Tensor& exponent);
/// x 2^other
inline Tensor ldexp(const Tensor& x, const Tensor& other) { return x.ldexp(other); }
/// 0 where x is below 0 or NaN, 1 where it is above, `values` where it is 0; both of one dtype; it has no derivative
inline Tensor heaviside(const Tensor& x, const Tensor& values) { return x.heaviside(values); }

inline Tensor& ldexp_(Tensor& x, const Tensor& other) { return x.ldexp_(other); }
inline Tensor& xlogy_(Tensor& x, const Tensor& other) { return x.xlogy_(other); }
inline Tensor& xlogy_(Tensor& x, const Scalar& other) { return x.xlogy_(other); }

Tensor& hypot_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& copysign_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& xlogy_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& xlogy_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& xlogy_out(Tensor& out, const Scalar& a, const Tensor& b);
Tensor& ldexp_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& heaviside_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& float_power_out(Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace tandem
