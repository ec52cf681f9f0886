// Binary operators of tensors: +, -, *, /, %, ==, !=, <, <=, >, >=, &, |, ^. Unary and in-place operators are methods.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Operators that call the functions add, sub, mul, div, remainder, eq, ..., bitwise_and, bitwise_or and bitwise_xor.
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
