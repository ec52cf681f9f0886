// Binary operators of tensors: +, -, *, /, %, ==, !=, <, <=, >, >=, &, |, ^. Unary and in-place operators are methods.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Operators that call the functions add, sub, mul, div, remainder, eq, ..., bitwise_and, bitwise_or and bitwise_xor.
#define TANDEM_DEFINE_OPERATOR(symbol, name)                                            \
  inline Tensor operator symbol(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor operator symbol(const Tensor& a, const Scalar& b) { return a.name(b); }
TANDEM_DEFINE_OPERATOR(+, add)
TANDEM_DEFINE_OPERATOR(-, sub)
TANDEM_DEFINE_OPERATOR(*, mul)
TANDEM_DEFINE_OPERATOR(/, div)
TANDEM_DEFINE_OPERATOR(%, remainder)
TANDEM_DEFINE_OPERATOR(==, eq)
TANDEM_DEFINE_OPERATOR(!=, ne)
TANDEM_DEFINE_OPERATOR(<, lt)
TANDEM_DEFINE_OPERATOR(<=, le)
TANDEM_DEFINE_OPERATOR(>, gt)
TANDEM_DEFINE_OPERATOR(>=, ge)
TANDEM_DEFINE_OPERATOR(&, bitwise_and)
TANDEM_DEFINE_OPERATOR(|, bitwise_or)
TANDEM_DEFINE_OPERATOR(^, bitwise_xor)
#undef TANDEM_DEFINE_OPERATOR
/// Operators whose first operand is a number.
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
