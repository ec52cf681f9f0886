// Building blocks of the scalar math in tandem::math. The functions never call std::, because the linker would share
// std's inline functions between instruction sets. Float functions are implemented here without branches, so that loops
// vectorise; double functions call the C library where it implements them.
#pragma once
#include <math.h>
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::math {

#define TANDEM_UNARY_MATH(name)                          \
  TANDEM_HD float name(float x) { return ::name##f(x); } \
  TANDEM_HD double name(double x) { return ::name(x); }
TANDEM_UNARY_MATH(sqrt)
TANDEM_UNARY_MATH(floor)
TANDEM_UNARY_MATH(ceil)
TANDEM_UNARY_MATH(trunc)
TANDEM_UNARY_MATH(rint)
#undef TANDEM_UNARY_MATH
TANDEM_HD float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
TANDEM_HD double copysign(double x, double sign) { return __builtin_copysign(x, sign); }

// a constant, because gcc 14 rejects __is_same in signatures
template <class A, class B> inline constexpr bool kIsSameType = __is_same(A, B);
template <class T> inline constexpr bool kIsFloatingType = T(0.5) != T(0) && T(0.5) != T(1);  // bool(0.5) is true

/// Addition, multiplication and negation. Integers wrap on overflow, as in PyTorch. They are computed as unsigned,
/// because signed overflow is undefined in C++.
template <class T> TANDEM_HD T add(T a, T b) {
  if constexpr (kIsFloatingType<T>)
    return T(a + b);
  else
    return T(uint64_t(a) + uint64_t(b));
}
template <class T> TANDEM_HD T mul(T a, T b) {
  if constexpr (kIsFloatingType<T>)
    return T(a * b);
  else
    return T(uint64_t(a) * uint64_t(b));
}
template <class T> TANDEM_HD T neg(T x) {
  if constexpr (kIsFloatingType<T>)
    return T(-x);
  else
    return T(-uint64_t(x));
}

template <class T> TANDEM_HD bool isnan(T x) { return x != x; }
template <class T> TANDEM_HD T abs(T x) { return x < T(0) ? neg(x) : x; }
TANDEM_HD float abs(float x) { return __builtin_fabsf(x); }
TANDEM_HD double abs(double x) { return __builtin_fabs(x); }
/// Evaluates a polynomial of x by Horner's rule. The coefficients are given from the highest power down.
template <class T, class... Lower> TANDEM_HD T polynomial(T x, T p, Lower... lower) {
  ((p = p * x + lower), ...);
  return p;
}
/// Returns a b + c, rounded once if there is an FMA instruction. Used for sums of two products: the compiler would fuse
/// either product with the addition, depending on the surrounding code, so results would vary.
TANDEM_HD float multiply_add(float a, float b, float c) {
#if defined(__FMA__) && !defined(TANDEM_NO_FMA)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
/// Returns the larger (max) or the smaller (min) number; NaN if one of them is NaN.
template <class T> TANDEM_HD T max(T a, T b) {
  const T larger = b > a ? b : a;  // compiles to one instruction; the result is NaN if a is NaN
  return b != b ? b : larger;
}
template <class T> TANDEM_HD T min(T a, T b) {
  const T smaller = b < a ? b : a;
  return b != b ? b : smaller;
}

}  // namespace tandem::math
