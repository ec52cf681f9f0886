// Elementwise functions of two tensors: mul, div, pow, fmod, remainder, floor_divide, maximum, minimum, fmax, fmin,
// atan2, hypot, copysign, heaviside, xlogy, ldexp, float_power, nextafter, gcd, lcm. add and sub, comparisons, logical
// operations and bitwise operations have their own files. Operands broadcast, and dtypes promote as in PyTorch: tensors
// with dimensions take precedence over 0-dim tensors, which take precedence over plain numbers, and bool promotes to
// integers, integers to floating point. Only floating dtypes have gradients. A plain number combined with an integer
// tensor wraps to the tensor's dtype; but an alpha, a power or a fill value that does not fit the dtype is an error.
// The following are errors too: subtracting bools; raising integers to a negative power that is a plain number; and
// dividing integers by 0 with floor_divide, remainder or fmod, if the divisor is a CPU tensor or a number.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_ARITHMETIC_OPS(TANDEM_DECLARE_BINARY_OP)
TANDEM_GCD_OPS(TANDEM_DECLARE_BINARY_OP)
// Aliases.
TANDEM_ARITHMETIC_ALIASES(TANDEM_DECLARE_BINARY_ALIAS)
/// Returns base raised to the power of each element.
Tensor pow(const Scalar& base, const Tensor& exponent);
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent);
/// Returns the remainder of a / x, with the sign of x.
Tensor remainder(const Scalar& a, const Tensor& x);
/// In-place versions: write the result into a.
inline Tensor& gcd_(Tensor& a, const Tensor& b) { return a.gcd_(b); }
inline Tensor& lcm_(Tensor& a, const Tensor& b) { return a.lcm_(b); }

/// Returns a / b, rounded down ("floor") or towards 0 ("trunc"); without a rounding_mode, the true quotient. If a and b
/// have integer dtypes, so has a rounded quotient, and b must not contain 0, as for floor_divide. The gradient of a
/// rounded quotient is 0.
/// @throws Error for any other rounding_mode, and for a rounded quotient of two bools
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
/// Returns sqrt(a^2 + b^2), computed without overflow, for floating dtypes. The gradient at (0, 0) is NaN.
inline Tensor hypot(const Tensor& a, const Tensor& b) { return a.hypot(b); }
/// Returns |a| with the sign of b. -0 counts as negative, NaN as positive. The gradient at a = 0 is 0.
inline Tensor copysign(const Tensor& a, const Tensor& b) { return a.copysign(b); }
inline Tensor copysign(const Tensor& a, const Scalar& b) { return a.copysign(b); }
/// Returns a ln(b). If a is 0, the result is 0 unless b is NaN.
inline Tensor xlogy(const Tensor& a, const Tensor& b) { return a.xlogy(b); }
inline Tensor xlogy(const Tensor& a, const Scalar& b) { return a.xlogy(b); }
Tensor xlogy(const Scalar& a, const Tensor& b);
/// Returns x^exponent, computed in float64; the result is float64.
inline Tensor float_power(const Tensor& x, const Tensor& exponent) { return x.float_power(exponent); }
inline Tensor float_power(const Tensor& x, const Scalar& exponent) { return x.float_power(exponent); }
Tensor float_power(const Scalar& x, const Tensor& exponent);
/// Returns x 2^other.
inline Tensor ldexp(const Tensor& x, const Tensor& other) { return x.ldexp(other); }
/// Returns 0 where x is negative or NaN, 1 where x is positive, and `values` where x is 0. x and values must have one
/// dtype. There is no derivative.
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
