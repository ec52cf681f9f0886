// Functions of one tensor, element by element: abs, neg, exp, log, sqrt, sin, tanh, floor, round, sign, reciprocal,
// square, ..., deg2rad, sinc, logit, angle, signbit, frexp. Activations, erf, gamma, comparisons, logical_not and
// bitwise_not have files of their own. Dtypes promote as in PyTorch; gradients are of floating dtypes.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what they compute.
TANDEM_MATH_OPS(TANDEM_DECLARE_UNARY_OP)
// Other spellings.
#define TANDEM_DECLARE_UNARY_ALIAS(alias, name)              \
  inline Tensor alias(const Tensor& x) { return x.name(); }  \
  inline Tensor& alias##_(Tensor& x) { return x.name##_(); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& x) { return name##_out(out, x); }
TANDEM_UNARY_ALIASES(TANDEM_DECLARE_UNARY_ALIAS)
#undef TANDEM_DECLARE_UNARY_ALIAS
/// To so many digits behind the point, of integers and of what is negative before it; the gradient is 0.
inline Tensor round(const Tensor& x, int64_t decimals) { return x.round(decimals); }
inline Tensor& round_(Tensor& x, int64_t decimals) { return x.round_(decimals); }
/// 0, or pi where x is below 0; NaN of NaN. The gradient is 0.
inline Tensor angle(const Tensor& x) { return x.angle(); }
/// An angle in degrees as radians, and the other way round.
inline Tensor deg2rad(const Tensor& x) { return x.deg2rad(); }
inline Tensor rad2deg(const Tensor& x) { return x.rad2deg(); }
/// sin(pi x) / (pi x), and 1 at 0
inline Tensor sinc(const Tensor& x) { return x.sinc(); }
/// ln(x / (1 - x)); with eps, of x clamped to [eps, 1 - eps]
inline Tensor logit(const Tensor& x, std::optional<double> eps = {}) { return x.logit(eps); }
/// Whether x is below 0 or -0 (a NaN is not).
inline Tensor signbit(const Tensor& x) { return x.signbit(); }
/// x itself. @throws Error for bool
inline Tensor positive(const Tensor& x) { return x.positive(); }
/// (mantissa, exponent): x = mantissa 2^exponent with |mantissa| in [1/2, 1) of x's dtype, and an int32; of 0, NaN and
/// the infinities x itself and 0. @throws Error unless x is floating-point
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
