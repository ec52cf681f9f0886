// Elementwise operations that are made of others. Operands broadcast and dtypes promote as in
// ops/elementwise/elementwise.h; where nothing else is said, integers and bool become the default floating dtype first.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// start + weight (end - start). All of one floating dtype. @throws Error unless they are
inline Tensor lerp(const Tensor& start, const Tensor& end, const Scalar& weight) { return start.lerp(end, weight); }
inline Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) { return start.lerp(end, weight); }
/// x + value a b; integers stay integers, and then the fraction of `value` is cut off, as in PyTorch.
inline Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcmul(a, b, value);
}
/// x + value a / b. @throws Error where a and b are both of integers or bool
inline Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1) {
  return x.addcdiv(a, b, value);
}
/// sqrt(a^2 + b^2), without overflow, of floating-point numbers; its slope at (0, 0) is NaN
inline Tensor hypot(const Tensor& a, const Tensor& b) { return a.hypot(b); }
/// ln(e^a + e^b) and log2(2^a + 2^b), without overflow, of floating-point numbers
inline Tensor logaddexp(const Tensor& a, const Tensor& b) { return a.logaddexp(b); }
inline Tensor logaddexp2(const Tensor& a, const Tensor& b) { return a.logaddexp2(b); }
/// NaN becomes `nan` (0), and infinities become `posinf` and `neginf` (the dtype's largest and lowest numbers).
/// Integers and bool are given as they are.
inline Tensor nan_to_num(const Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                         std::optional<double> neginf = {}) {
  return x.nan_to_num(nan, posinf, neginf);
}
/// |a| with the sign of b, of -0 too; a NaN counts as positive. Its slope at a = 0 is 0.
inline Tensor copysign(const Tensor& a, const Tensor& b) { return a.copysign(b); }
inline Tensor copysign(const Tensor& a, const Scalar& b) { return a.copysign(b); }
/// a ln(b), which is 0 where a is 0, unless b is NaN
inline Tensor xlogy(const Tensor& a, const Tensor& b) { return a.xlogy(b); }
inline Tensor xlogy(const Tensor& a, const Scalar& b) { return a.xlogy(b); }
Tensor xlogy(const Scalar& a, const Tensor& b);
/// An angle in degrees as radians, and the other way round.
inline Tensor deg2rad(const Tensor& x) { return x.deg2rad(); }
inline Tensor rad2deg(const Tensor& x) { return x.rad2deg(); }
/// sin(pi x) / (pi x), and 1 at 0
inline Tensor sinc(const Tensor& x) { return x.sinc(); }
/// ln(x / (1 - x)); with eps, of x clamped to [eps, 1 - eps]
inline Tensor logit(const Tensor& x, std::optional<double> eps = {}) { return x.logit(eps); }
/// Whether x is the positive infinity, the negative one, a real number (all of them are), below 0 or -0 (a NaN is not).
inline Tensor isposinf(const Tensor& x) { return x.isposinf(); }
inline Tensor isneginf(const Tensor& x) { return x.isneginf(); }
inline Tensor isreal(const Tensor& x) { return x.isreal(); }
inline Tensor signbit(const Tensor& x) { return x.signbit(); }
/// x itself. @throws Error for bool
inline Tensor positive(const Tensor& x) { return x.positive(); }
/// x^exponent in float64
inline Tensor float_power(const Tensor& x, const Tensor& exponent) { return x.float_power(exponent); }
inline Tensor float_power(const Tensor& x, const Scalar& exponent) { return x.float_power(exponent); }
Tensor float_power(const Scalar& x, const Tensor& exponent);
/// x 2^other
inline Tensor ldexp(const Tensor& x, const Tensor& other) { return x.ldexp(other); }
/// 0 where x is below 0 or NaN, 1 where it is above, `values` where it is 0; both of one dtype; it has no derivative
inline Tensor heaviside(const Tensor& x, const Tensor& values) { return x.heaviside(values); }
/// other - alpha x
Tensor rsub(const Tensor& x, const Tensor& other, const Scalar& alpha = 1);
Tensor rsub(const Tensor& x, const Scalar& other, const Scalar& alpha = 1);
/// Whether |a - b| <= atol + rtol |b|, elementwise; both of one dtype
inline Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return a.isclose(b, rtol, atol, equal_nan);
}
/// The derivative number n + 1 of ln Gamma(x). @throws Error for a negative n
inline Tensor polygamma(int64_t n, const Tensor& x) { return x.polygamma(n); }
/// ln of the multivariate gamma function of dimension p: the sum of lgamma(x - j/2) over j = 0 ... p - 1, plus
/// p (p - 1) / 4 ln(pi). @throws Error for p below 1
inline Tensor mvlgamma(const Tensor& x, int64_t p) { return x.mvlgamma(p); }
/// (mantissa, exponent): x = mantissa 2^exponent with |mantissa| in [1/2, 1) of x's dtype, and an int32; of 0, NaN and
/// the infinities x itself and 0. @throws Error unless x is floating-point
inline std::tuple<Tensor, Tensor> frexp(const Tensor& x) { return x.frexp(); }
// The same in place: x becomes the result, and must be of its sizes and hold its kind.

inline Tensor& deg2rad_(Tensor& x) { return x.deg2rad_(); }
inline Tensor& rad2deg_(Tensor& x) { return x.rad2deg_(); }
inline Tensor& sinc_(Tensor& x) { return x.sinc_(); }
inline Tensor& logit_(Tensor& x, std::optional<double> eps = {}) { return x.logit_(eps); }
inline Tensor& ldexp_(Tensor& x, const Tensor& other) { return x.ldexp_(other); }
inline Tensor& xlogy_(Tensor& x, const Tensor& other) { return x.xlogy_(other); }
inline Tensor& xlogy_(Tensor& x, const Scalar& other) { return x.xlogy_(other); }
inline Tensor& nan_to_num_(Tensor& x, std::optional<double> nan = {}, std::optional<double> posinf = {},
                           std::optional<double> neginf = {}) {
  return x.nan_to_num_(nan, posinf, neginf);
}
// The same into `out`, as exp_out.

Tensor& deg2rad_out(Tensor& out, const Tensor& x);
Tensor& rad2deg_out(Tensor& out, const Tensor& x);
Tensor& sinc_out(Tensor& out, const Tensor& x);
Tensor& logit_out(Tensor& out, const Tensor& x, std::optional<double> eps = {});
Tensor& polygamma_out(Tensor& out, int64_t n, const Tensor& x);
Tensor& mvlgamma_out(Tensor& out, const Tensor& x, int64_t p);
Tensor& clamp_out(Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor& clip_out(Tensor& out, const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor& clamp_min_out(Tensor& out, const Tensor& x, const Scalar& bound);
Tensor& clamp_max_out(Tensor& out, const Tensor& x, const Scalar& bound);
Tensor& hypot_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logaddexp_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logaddexp2_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& copysign_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& xlogy_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& xlogy_out(Tensor& out, const Tensor& a, const Scalar& b);
Tensor& xlogy_out(Tensor& out, const Scalar& a, const Tensor& b);
Tensor& ldexp_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& heaviside_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& float_power_out(Tensor& out, const Tensor& a, const Tensor& b);
/// The positions at which condition is not 0: a vector of int64 for each dimension.
std::vector<Tensor> where(const Tensor& condition);

}  // namespace tandem
