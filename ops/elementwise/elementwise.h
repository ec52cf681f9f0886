// Elementwise operations. Operands broadcast, and dtypes promote as in PyTorch: dimensions before 0-dim tensors before
// plain numbers, and bool before integers before floating point. Gradients are of floating dtypes. A number beside a
// tensor of integers wraps in their dtype, but not where it stays as it is (alpha, a power, a value to fill in): there
// one that does not fit is an error. So are subtraction of bools, integers to negative powers that are plain numbers,
// and (on the CPU, or by a number) integers divided by 0 with floor_divide, remainder and fmod.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The dtype in which a and b are combined. A 0-dim tensor or a number changes it only by kind.
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, const Scalar& b);

// core/elementwise_ops.h says what they compute. The forms with `out` write into it and give it back: it has the
// result's sizes, or no elements, and then gets those; its dtype holds the result's kind, and is the result's own where
// that is x's (column `accepts`: numbers, real, rounded, integral, and sign). They record nothing, and throw where a
// gradient is wanted.
#define TANDEM_DECLARE(name, ...)                           \
  inline Tensor name(const Tensor& x) { return x.name(); }  \
  inline Tensor& name##_(Tensor& x) { return x.name##_(); } \
  Tensor& name##_out(Tensor& out, const Tensor& x);
TANDEM_ALL_UNARY_OPS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
#define TANDEM_DECLARE(name, ...) \
  inline Tensor name(const Tensor& x) { return x.name(); }
TANDEM_PREDICATE_OPS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
#define TANDEM_DECLARE(name, ...)                                            \
  inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor name(const Tensor& a, const Scalar& b) { return a.name(b); } \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b);         \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b);
TANDEM_ALL_BINARY_OPS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
/// A number to the power of each element.
Tensor pow(const Scalar& base, const Tensor& exponent);
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent);
/// To so many digits behind the point, of integers and of what is negative before it; the gradient is 0.
inline Tensor round(const Tensor& x, int64_t decimals) { return x.round(decimals); }
inline Tensor& round_(Tensor& x, int64_t decimals) { return x.round_(decimals); }
/// 0, or pi where x is below 0; NaN of NaN. The gradient is 0.
inline Tensor angle(const Tensor& x) { return x.angle(); }
/// What LibTorch does to complex numbers: of real ones x itself.
inline Tensor conj(const Tensor& x) { return x; }
inline Tensor conj_physical(const Tensor& x) { return x; }
inline Tensor& conj_physical_(Tensor& x) { return x; }
inline Tensor resolve_conj(const Tensor& x) { return x; }
inline Tensor resolve_neg(const Tensor& x) { return x; }
inline Tensor real(const Tensor& x) { return x; }
/// What Tandem has not: false of every tensor.
#define TANDEM_DECLARE(name) \
  inline bool name(const Tensor& x) { return x.name(); }
TANDEM_ABSENT_KINDS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
// Tensor's methods of these names.

inline bool is_floating_point(const Tensor& x) { return x.is_floating_point(); }
inline bool is_inference(const Tensor& x) { return x.is_inference(); }
inline int64_t numel(const Tensor& x) { return x.numel(); }
inline int64_t size(const Tensor& x, int64_t dim) { return x.size(dim); }
inline int64_t stride(const Tensor& x, int64_t dim) { return x.stride(dim); }
/// In place: x becomes the result.
inline Tensor& gcd_(Tensor& a, const Tensor& b) { return a.gcd_(b); }
inline Tensor& lcm_(Tensor& a, const Tensor& b) { return a.lcm_(b); }
// A number as the first operand.
Tensor bitwise_left_shift(const Scalar& a, const Tensor& b);
Tensor bitwise_right_shift(const Scalar& a, const Tensor& b);
// Other spellings.
#define TANDEM_DECLARE(alias, name)                          \
  inline Tensor alias(const Tensor& x) { return x.name(); }  \
  inline Tensor& alias##_(Tensor& x) { return x.name##_(); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& x) { return name##_out(out, x); }
TANDEM_UNARY_ALIASES(TANDEM_DECLARE)
#undef TANDEM_DECLARE
#define TANDEM_DECLARE(alias, name)                                                                           \
  inline Tensor alias(const Tensor& a, const Tensor& b) { return a.name(b); }                                 \
  inline Tensor alias(const Tensor& a, const Scalar& b) { return a.name(b); }                                 \
  inline Tensor& alias##_out(Tensor& out, const Tensor& a, const Tensor& b) { return name##_out(out, a, b); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& a, const Scalar& b) { return name##_out(out, a, b); }
TANDEM_BINARY_ALIASES(TANDEM_DECLARE)
#undef TANDEM_DECLARE

/// a + alpha b, of broadcast operands and the dtype that both promote to. Of two bools: whether either is true.
inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
/// a - alpha b. @throws Error where both are bool
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
/// The forms that write into `out`, as exp_out.
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
/// Another spelling of sub.
inline Tensor subtract(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor subtract(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor& subtract_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return sub_out(out, a, b, alpha);
}
/// a / b, rounded down ("floor") or towards 0 ("trunc"): of integers an integer, with the divisors of floor_divide. The
/// gradient is then 0. @throws Error for any other rounding_mode, and where both are bool
#define TANDEM_DECLARE(name)                                                                            \
  inline Tensor name(const Tensor& a, const Tensor& b, std::optional<std::string_view> rounding_mode) { \
    return a.div(b, rounding_mode);                                                                     \
  }                                                                                                     \
  inline Tensor name(const Tensor& a, const Scalar& b, std::optional<std::string_view> rounding_mode) { \
    return a.div(b, rounding_mode);                                                                     \
  }
TANDEM_DECLARE(div)
TANDEM_DECLARE(divide)
#undef TANDEM_DECLARE
/// min(max(x, min), max) in x's dtype, or a floating one where a bound is one and x is of integers; clip is another
/// spelling. Bounds are numbers or tensors, of which one may be undefined.
#define TANDEM_DECLARE(name)                                                                                   \
  inline Tensor name(const Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {             \
    return x.clamp(min, max);                                                                                  \
  }                                                                                                            \
  inline Tensor name(const Tensor& x, const Tensor& min, const Tensor& max = {}) { return x.clamp(min, max); } \
  inline Tensor& name##_(Tensor& x, std::optional<Scalar> min, std::optional<Scalar> max = {}) {               \
    return x.clamp_(min, max);                                                                                 \
  }                                                                                                            \
  inline Tensor& name##_(Tensor& x, const Tensor& min, const Tensor& max = {}) { return x.clamp_(min, max); }
TANDEM_DECLARE(clamp)
TANDEM_DECLARE(clip)
#undef TANDEM_DECLARE
/// One bound of clamp.
#define TANDEM_DECLARE(name)                                                          \
  inline Tensor name(const Tensor& x, const Scalar& bound) { return x.name(bound); }  \
  inline Tensor name(const Tensor& x, const Tensor& bound) { return x.name(bound); }  \
  inline Tensor& name##_(Tensor& x, const Scalar& bound) { return x.name##_(bound); } \
  inline Tensor& name##_(Tensor& x, const Tensor& bound) { return x.name##_(bound); }
TANDEM_DECLARE(clamp_min)
TANDEM_DECLARE(clamp_max)
#undef TANDEM_DECLARE
/// A tensor of x's sizes, dtype and strides with one number everywhere; its gradient for x is 0. A tensor for value has
/// no dimension, and gets the sum of the gradients.
Tensor fill(const Tensor& x, const Scalar& value);
Tensor fill(const Tensor& x, const Tensor& value);
/// Zeros of x's sizes, dtype and strides.
Tensor zero(const Tensor& x);
/// In place: every element becomes the value, or 0.
inline Tensor& fill_(Tensor& x, const Scalar& value) { return x.fill_(value); }
inline Tensor& fill_(Tensor& x, const Tensor& value) { return x.fill_(value); }
inline Tensor& zero_(Tensor& x) { return x.zero_(); }
/// x with `value`, a number or a tensor of no dimension, where mask holds; both broadcast. mask is bool.
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return x.masked_fill(mask, value);
}
inline Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  return x.masked_fill(mask, value);
}
/// condition ? a : b, elementwise; condition is bool
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b);

/// x > 0 ? x : negative_slope x; x == 0 takes the slope of the left side
Tensor leaky_relu(const Tensor& x, double negative_slope = 0.01);
/// x > 0 ? x : alpha (e^x - 1)
Tensor elu(const Tensor& x, double alpha = 1.0);
/// ln(1 + e^(beta x)) / beta, and x itself where beta x > threshold
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);

/// Operators are the functions add, sub, mul, div, remainder, eq, ..., bitwise_and, bitwise_or and bitwise_xor.
#define TANDEM_OPERATOR(symbol, name)                                                   \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.name(b); }
TANDEM_OPERATOR(+, add)
TANDEM_OPERATOR(-, sub)
TANDEM_OPERATOR(*, mul)
TANDEM_OPERATOR(/, div)
TANDEM_OPERATOR(%, remainder)
TANDEM_OPERATOR(==, eq)
TANDEM_OPERATOR(!=, ne)
TANDEM_OPERATOR(<, lt)
TANDEM_OPERATOR(<=, le)
TANDEM_OPERATOR(>, gt)
TANDEM_OPERATOR(>=, ge)
TANDEM_OPERATOR(&, bitwise_and)
TANDEM_OPERATOR(|, bitwise_or)
TANDEM_OPERATOR(^, bitwise_xor)
#undef TANDEM_OPERATOR
/// The same with a number in front.
inline Tensor operator+(const Scalar& a, const Tensor& b) { return b.add(a); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return b.mul(a); }
Tensor operator-(const Scalar& a, const Tensor& b);
Tensor operator/(const Scalar& a, const Tensor& b);
Tensor operator%(const Scalar& a, const Tensor& b);
inline Tensor operator&(const Scalar& a, const Tensor& b) { return b.bitwise_and(a); }
inline Tensor operator|(const Scalar& a, const Tensor& b) { return b.bitwise_or(a); }
inline Tensor operator^(const Scalar& a, const Tensor& b) { return b.bitwise_xor(a); }
inline Tensor operator==(const Scalar& a, const Tensor& b) { return b.eq(a); }
inline Tensor operator!=(const Scalar& a, const Tensor& b) { return b.ne(a); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return b.gt(a); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return b.ge(a); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return b.lt(a); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return b.le(a); }

}  // namespace tandem
