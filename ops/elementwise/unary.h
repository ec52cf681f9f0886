// Elementwise functions of one tensor: abs, neg, exp, log, sqrt, sin, tanh, floor, round, sign, reciprocal, square,
// ..., deg2rad, sinc, logit, angle, signbit, frexp. Activations, erf, gamma, comparisons, logical_not and bitwise_not
// have their own files. Dtypes promote as in PyTorch; only floating dtypes have gradients.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_MATH_OPS(TANDEM_DECLARE_UNARY_OP)
// Aliases.
#define TANDEM_DECLARE_UNARY_ALIAS(alias, name)              \
  inline Tensor alias(const Tensor& x) { return x.name(); }  \
  inline Tensor& alias##_(Tensor& x) { return x.name##_(); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& x) { return name##_out(out, x); }
TANDEM_UNARY_ALIASES(TANDEM_DECLARE_UNARY_ALIAS)
#undef TANDEM_DECLARE_UNARY_ALIAS
/// Rounds to `decimals` digits after the decimal point; a negative number counts digits before the point. The gradient
/// is 0. @throws Error unless x is floating-point or decimals is 0
inline Tensor round(const Tensor& x, int64_t decimals) { return x.round(decimals); }
inline Tensor& round_(Tensor& x, int64_t decimals) { return x.round_(decimals); }
/// Returns pi where x is negative, 0 where it is not, and NaN for NaN. The gradient is 0.
inline Tensor angle(const Tensor& x) { return x.angle(); }
/// Convert angles from degrees to radians, and from radians to degrees.
inline Tensor deg2rad(const Tensor& x) { return x.deg2rad(); }
inline Tensor rad2deg(const Tensor& x) { return x.rad2deg(); }
/// Returns sin(pi x) / (pi x), and 1 at 0.
inline Tensor sinc(const Tensor& x) { return x.sinc(); }
/// Returns ln(x / (1 - x)). If eps is given, x is clamped to [eps, 1 - eps] first.
inline Tensor logit(const Tensor& x, std::optional<double> eps = {}) { return x.logit(eps); }
/// Returns whether x is negative or -0. NaN gives false.
inline Tensor signbit(const Tensor& x) { return x.signbit(); }
/// Returns x itself. @throws Error for bool
inline Tensor positive(const Tensor& x) { return x.positive(); }
/// Returns (mantissa, exponent) with x = mantissa 2^exponent. mantissa has x's dtype and its absolute value is in [1/2,
/// 1); exponent is int32. 0, NaN and infinities give x itself and exponent 0.
/// @throws Error unless x is floating-point
inline std::tuple<Tensor, Tensor> frexp(const Tensor& x) { return x.frexp(); }

inline Tensor& deg2rad_(Tensor& x) { return x.deg2rad_(); }
inline Tensor& rad2deg_(Tensor& x) { return x.rad2deg_(); }
inline Tensor& sinc_(Tensor& x) { return x.sinc_(); }
inline Tensor& logit_(Tensor& x, std::optional<double> eps = {}) { return x.logit_(eps); }

Tensor& deg2rad_out(Tensor& out, const Tensor& x);
Tensor& rad2deg_out(Tensor& out, const Tensor& x);
Tensor& sinc_out(Tensor& out, const Tensor& x);
Tensor& logit_out(Tensor& out, const Tensor& x, std::optional<double> eps = {});

}  // namespace tandem
