// The math, written once for host and device. A functor's members are its scalars, in the type it computes in. It calls
// tandem::math, never std::, whose inline functions the instruction sets would share.
#pragma once
#include <math.h>
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::math {

#define TANDEM_MATH1(name)                               \
  TANDEM_HD float name(float x) { return ::name##f(x); } \
  TANDEM_HD double name(double x) { return ::name(x); }
TANDEM_MATH1(log2)
TANDEM_MATH1(log10)
TANDEM_MATH1(sin)
TANDEM_MATH1(cos)
TANDEM_MATH1(tan)
TANDEM_MATH1(erfc)
TANDEM_MATH1(sqrt)
TANDEM_MATH1(fabs)
TANDEM_MATH1(floor)
TANDEM_MATH1(ceil)
TANDEM_MATH1(trunc)
TANDEM_MATH1(rint)
#undef TANDEM_MATH1
TANDEM_HD float copysign(float x, float sign) { return __builtin_copysignf(x, sign); }
TANDEM_HD double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
TANDEM_HD float pow(float x, float y) { return ::powf(x, y); }
TANDEM_HD double pow(double x, double y) { return ::pow(x, y); }
TANDEM_HD float fmod(float x, float y) { return ::fmodf(x, y); }
TANDEM_HD double fmod(double x, double y) { return ::fmod(x, y); }
TANDEM_HD double exp(double x) { return ::exp(x); }
TANDEM_HD double log(double x) { return ::log(x); }
TANDEM_HD double expm1(double x) { return ::expm1(x); }
TANDEM_HD double log1p(double x) { return ::log1p(x); }
TANDEM_HD double tanh(double x) { return ::tanh(x); }
TANDEM_HD double erf(double x) { return ::erf(x); }

/// e^x = (1 + q) 2^k: k the nearest integer to x / ln 2, q = e^r - 1 by a polynomial fitted for this file on |r| <=
/// ln(2)/2 by weighted minimax. No branch, so that loops vectorise. x in [-104, 89].
struct ExpParts {
  float q;
  int32_t k;
};
TANDEM_HD ExpParts exp_parts(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds to an integer
  const float n = shifted - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts, of which the first is short
  float p = 1.388248987e-3f;
  p = p * r + 8.366691880e-3f;
  p = p * r + 4.166720435e-2f;
  p = p * r + 1.666654199e-1f;
  p = p * r + 0.5f;
  return {p * (r * r) + r, __builtin_bit_cast(int32_t, shifted) - 0x4b400000};
}
TANDEM_HD float power_of_two(int32_t k) { return __builtin_bit_cast(float, uint32_t(k + 127) << 23); }

/// Within 1 ulp, below 2^-126 too. (tests/kernels/functors_test.cpp measures these bounds and holds them.)
TANDEM_HD float exp(float x) {
  const float clamped = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;  // a NaN passes through both
  const ExpParts e = exp_parts(clamped);
  // Two factors, so that results below 2^-126 and above 2^127 come out right.
  const int32_t half = e.k >> 1;
  return x != x ? x : (e.q + 1.0f) * power_of_two(half) * power_of_two(e.k - half);
}

/// ln x by exponent and a polynomial on [sqrt(1/2), sqrt(2)), fitted for this file by weighted minimax. Within 0.9 ulp;
/// ln 0 = -inf, ln of less is NaN.
TANDEM_HD float log(float x) {
  const bool tiny = x < 1.17549435e-38f;
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t u = __builtin_bit_cast(uint32_t, scaled), shifted = u - 0x3f3504f3u;
  const int32_t e = int32_t(shifted) >> 23;
  const float f = __builtin_bit_cast(float, (shifted & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  const float n = float(e) - (tiny ? 23.0f : 0.0f), z = f * f;
  float p = 6.746642292e-2f;
  p = p * f - 1.167565212e-1f;
  p = p * f + 1.188816205e-1f;
  p = p * f - 1.240558848e-1f;
  p = p * f + 1.421955228e-1f;
  p = p * f - 1.666799635e-1f;
  p = p * f + 2.000211924e-1f;
  p = p * f - 2.500000894e-1f;
  p = p * f + 3.333331347e-1f;
  const float y = (f * z * p + n * -2.12194440e-4f) - 0.5f * z;
  const float finite = f + y + n * 0.693359375f;
  const float limit = x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
  return x > 0.0f ? (x < __builtin_inff() ? finite : x) : limit;
}

/// (e^2x - 1) / (e^2x + 1), by an odd polynomial near zero, fitted for this file as well. Within 1.3 ulp.
TANDEM_HD float tanh(float x) {
  const float a = x < 0.0f ? -x : x, z = x * x;
  float p = -5.704987328e-3f;
  p = p * z + 2.063908800e-2f;
  p = p * z - 5.373971537e-2f;
  p = p * z + 1.333144158e-1f;
  p = p * z - 3.333328068e-1f;
  const float small = p * z * x + x;
  const float t = 1.0f - 2.0f / (exp(2.0f * (a > 10.0f ? 10.0f : a)) + 1.0f);
  const float large = x < 0.0f ? -t : t;
  return x != x || x == 0.0f ? x : a < 0.625f ? small : large;  // -0 stays -0
}

/// 2^k q + (2^k - 1), which loses nothing near zero, where k = 0. Within 1.5 ulp.
TANDEM_HD float expm1(float x) {
  const float clamped = x < -20.0f ? -20.0f : x > 89.0f ? 89.0f : x;
  const ExpParts e = exp_parts(clamped);
  const int32_t half = e.k >> 1, rest = e.k - half;
  const float scale = power_of_two(half);
  const float y = (e.q * scale + (scale - power_of_two(-rest))) * power_of_two(rest);
  return x != x || x == 0.0f ? x : y;
}

/// ln(1 + x): the logarithm of the rounded sum, scaled by what the rounding took away. Within 2.4 ulp.
TANDEM_HD float log1p(float x) {
  const float sum = 1.0f + x, added = sum - 1.0f;
  const float y = log(sum) * (x / added);
  return added == 0.0f || x == __builtin_inff() ? x : y;
}

/// An odd polynomial below 0.9, and 1 - e^-q(|x|) above it, where q is one for -ln erfc on [0.9, 4]. Both were fitted
/// for this file by weighted minimax. Within 1.3 ulp.
TANDEM_HD float erf(float x) {
  const float a = x < 0.0f ? -x : x, z = x * x, c = a > 4.0f ? 4.0f : a;
  float p = 8.513087232e-5f;
  p = p * z - 8.175635012e-4f;
  p = p * z + 5.203858484e-3f;
  p = p * z - 2.686050907e-2f;
  p = p * z + 1.128371507e-1f;
  p = p * z - 3.761263490e-1f;
  p = p * z + 1.283791661e-1f;
  float q = -1.971818128e-4f;
  q = q * c + 3.055608366e-3f;
  q = q * c - 2.227708884e-2f;
  q = q * c + 1.040373668e-1f;
  q = q * c + 6.370597482e-1f;
  q = q * c + 1.127749562f;
  q = q * c + 1.774942939e-4f;
  const float t = 1.0f - exp(-q), large = x < 0.0f ? -t : t;
  return x != x ? x : a < 0.9f ? x + x * p : large;
}

/// Of floats within 2.2 ulp while e^-x is finite, and 0 below.
template <class T> TANDEM_HD T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }
template <class T> TANDEM_HD bool isnan(T x) { return x != x; }
template <class T> TANDEM_HD T abs(T x) { return x < T(0) ? T(-x) : x; }
TANDEM_HD float abs(float x) { return __builtin_fabsf(x); }
TANDEM_HD double abs(double x) { return __builtin_fabs(x); }
/// The larger one; a NaN wins.
template <class T> TANDEM_HD T max(T a, T b) { return a != a ? a : (a < b || b != b) ? b : a; }
template <class T> TANDEM_HD T min(T a, T b) { return a != a ? a : (b < a || b != b) ? b : a; }
template <class T> inline constexpr bool kFloating = T(0.5) != T(0) && T(0.5) != T(1);  // bool(0.5) is true

}  // namespace tandem::math

namespace tandem {

#define TANDEM_FUNCTOR1(Name, expression)                    \
  template <class T> struct Name {                           \
    TANDEM_HD T operator()(T x) const { return expression; } \
  };
TANDEM_FUNCTOR1(Neg, T(-x))
TANDEM_FUNCTOR1(Abs, math::abs(x))
TANDEM_FUNCTOR1(Sign, T((x > T(0)) - (x < T(0))))
TANDEM_FUNCTOR1(Square, T(x* x))
TANDEM_FUNCTOR1(Exp, math::exp(x))
TANDEM_FUNCTOR1(Expm1, math::expm1(x))
TANDEM_FUNCTOR1(Log, math::log(x))
TANDEM_FUNCTOR1(Log1p, math::log1p(x))
TANDEM_FUNCTOR1(Log2, math::log2(x))
TANDEM_FUNCTOR1(Log10, math::log10(x))
TANDEM_FUNCTOR1(Sqrt, math::sqrt(x))
TANDEM_FUNCTOR1(Rsqrt, T(1) / math::sqrt(x))
TANDEM_FUNCTOR1(Sin, math::sin(x))
TANDEM_FUNCTOR1(Cos, math::cos(x))
TANDEM_FUNCTOR1(Tan, math::tan(x))
TANDEM_FUNCTOR1(Tanh, math::tanh(x))
TANDEM_FUNCTOR1(Sigmoid, math::sigmoid(x))
TANDEM_FUNCTOR1(Erf, math::erf(x))
TANDEM_FUNCTOR1(Erfc, math::erfc(x))
TANDEM_FUNCTOR1(Reciprocal, T(1) / x)
TANDEM_FUNCTOR1(Floor, math::floor(x))
TANDEM_FUNCTOR1(Ceil, math::ceil(x))
TANDEM_FUNCTOR1(Trunc, math::trunc(x))
TANDEM_FUNCTOR1(Round, math::rint(x))  // half to even
TANDEM_FUNCTOR1(Frac, x - math::trunc(x))
TANDEM_FUNCTOR1(Relu, x < T(0) ? T(0) : x)  // -0 and NaN stay, as in PyTorch
TANDEM_FUNCTOR1(Silu, x* math::sigmoid(x))
TANDEM_FUNCTOR1(Gelu, T(0.5) * x * (T(1) + math::erf(x * T(0.70710678118654752440))))
TANDEM_FUNCTOR1(BitwiseNot, T(~x))

/// y = x > 0 ? x : slope * x
template <class T> struct LeakyRelu {
  T slope;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : slope * x; }
};
/// y = x > 0 ? x : alpha (e^x - 1)
template <class T> struct Elu {
  T alpha;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : alpha * math::expm1(x); }
};
/// y = ln(1 + e^(beta x)) / beta, and x itself where beta x > threshold
template <class T> struct Softplus {
  T beta, threshold;
  TANDEM_HD T operator()(T x) const { return x * beta > threshold ? x : math::log1p(math::exp(x * beta)) / beta; }
};
/// y = min(max(x, low), high); a NaN stays one
template <class T> struct Clamp {
  T low, high;
  TANDEM_HD T operator()(T x) const {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;  // high wins where low > high
  }
};

#define TANDEM_FUNCTOR2(Name, expression)                         \
  template <class T> struct Name {                                \
    TANDEM_HD T operator()(T a, T b) const { return expression; } \
  };
TANDEM_FUNCTOR2(Mul, T(a* b))
TANDEM_FUNCTOR2(Maximum, math::max(a, b))
TANDEM_FUNCTOR2(Minimum, math::min(a, b))
TANDEM_FUNCTOR2(BitwiseAnd, T(a& b))
TANDEM_FUNCTOR2(BitwiseOr, T(a | b))
TANDEM_FUNCTOR2(BitwiseXor, T(a ^ b))
TANDEM_FUNCTOR2(SquaredDifference, T((a - b) * (a - b)))
// Backwards, as (gradient of the output, saved): y stands for the output, x for the input.
TANDEM_FUNCTOR2(ReluBackward, b <= T(0) ? T(0) : a)  // saved y; a NaN lets the gradient through
TANDEM_FUNCTOR2(SigmoidBackward, a* b*(T(1) - b))    // saved y
TANDEM_FUNCTOR2(TanhBackward, a*(T(1) - b * b))      // saved y
/// a + alpha * b
template <class T> struct AddScaled {
  T alpha;
  TANDEM_HD T operator()(T a, T b) const { return T(a + alpha * b); }
};
template <class T> struct LeakyReluBackward {
  T slope;
  TANDEM_HD T operator()(T dy, T x) const { return x > T(0) ? dy : slope * dy; }
};
template <class T> struct ClampBackward {
  T low, high;
  TANDEM_HD T operator()(T dy, T x) const { return x >= low && x <= high ? dy : T(0); }
};
/// True division of floating types.
TANDEM_FUNCTOR2(Div, T(a / b))
/// Python's modulo: the sign of the divisor. An integer modulo 0 is 0 (PyTorch throws there; the planner checks).
template <class T> struct Remainder {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kFloating<T>) {
      const T r = math::fmod(a, b);
      return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
    } else {
      if (b == T(0)) return T(0);
      if (b == T(-1)) return T(0);  // the smallest integer by -1 overflows
      const T r = T(a % b);
      return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r;
    }
  }
};
/// C's modulo: the sign of the dividend.
template <class T> struct Fmod {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kFloating<T>)
      return math::fmod(a, b);
    else
      return b == T(0) || b == T(-1) ? T(0) : T(a % b);
  }
};
template <class T> struct FloorDivide {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kFloating<T>) {
      if (b == T(0)) return a / b;
      const T rest = math::fmod(a, b);  // a / b may round up to an integer that the quotient does not reach
      T q = (a - rest) / b;
      if (rest != T(0) && (b < T(0)) != (rest < T(0))) q -= T(1);
      if (q == T(0)) return math::copysign(T(0), a / b);
      const T whole = math::floor(q);
      return q - whole > T(0.5) ? whole + T(1) : whole;
    } else {
      if (b == T(0)) return T(0);
      if (b == T(-1)) return T(T(0) - a);
      const T q = T(a / b);
      return T(a % b) != T(0) && (a < T(0)) != (b < T(0)) ? T(q - 1) : q;
    }
  }
};
template <class T> struct Pow {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kFloating<T>)
      return math::pow(a, b);
    else {
      if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
      T result = T(1), base = a;
      for (T e = b; e > T(0); e = T(e / 2), base = T(base * base))
        if (e % 2) result = T(result * base);
      return result;
    }
  }
};

#define TANDEM_COMPARE(Name, expression)                             \
  template <class T> struct Name {                                   \
    TANDEM_HD bool operator()(T a, T b) const { return expression; } \
  };
TANDEM_COMPARE(Eq, a == b)
TANDEM_COMPARE(Ne, a != b)
TANDEM_COMPARE(Lt, a < b)
TANDEM_COMPARE(Le, a <= b)
TANDEM_COMPARE(Gt, a > b)
TANDEM_COMPARE(Ge, a >= b)
TANDEM_COMPARE(LogicalAnd, a != T(0) && b != T(0))
TANDEM_COMPARE(LogicalOr, a != T(0) || b != T(0))
TANDEM_COMPARE(LogicalXor, (a != T(0)) != (b != T(0)))
#define TANDEM_PREDICATE(Name, expression)                      \
  template <class T> struct Name {                              \
    TANDEM_HD bool operator()(T x) const { return expression; } \
  };
TANDEM_PREDICATE(IsNan, x != x)
TANDEM_PREDICATE(IsInf, x - x != x - x && x == x)
TANDEM_PREDICATE(IsFinite, x - x == x - x)
TANDEM_PREDICATE(LogicalNot, x == T(0))

}  // namespace tandem
