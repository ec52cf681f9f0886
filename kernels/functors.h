// Elementwise math, written once for host and device. The data members of a functor are the scalars of the operation
// (for example, alpha), in the compute type. Functors call tandem::math (kernels/functors/), never std::, because the
// linker would share std's inline functions between instruction sets.
#pragma once
#include "tandem/kernels/functors/bessel.h"
#include "tandem/kernels/functors/erf.h"
#include "tandem/kernels/functors/erf_inverse.h"
#include "tandem/kernels/functors/exp.h"
#include "tandem/kernels/functors/fmod.h"
#include "tandem/kernels/functors/gamma.h"
#include "tandem/kernels/functors/integers.h"
#include "tandem/kernels/functors/inverse.h"
#include "tandem/kernels/functors/log.h"
#include "tandem/kernels/functors/trig.h"

namespace tandem {

#define TANDEM_UNARY_FUNCTOR(Name, expression)               \
  template <class T> struct Name {                           \
    TANDEM_HD T operator()(T x) const { return expression; } \
  };
TANDEM_UNARY_FUNCTOR(Neg, math::neg(x))
TANDEM_UNARY_FUNCTOR(Abs, math::abs(x))
TANDEM_UNARY_FUNCTOR(Sign, T((x > T(0)) - (x < T(0))))
TANDEM_UNARY_FUNCTOR(Square, math::mul(x, x))
TANDEM_UNARY_FUNCTOR(Expm1, math::expm1(x))
TANDEM_UNARY_FUNCTOR(Log1p, math::log1p(x))
TANDEM_UNARY_FUNCTOR(Sqrt, math::sqrt(x))
TANDEM_UNARY_FUNCTOR(Rsqrt, T(1) / math::sqrt(x))
TANDEM_UNARY_FUNCTOR(Tanh, math::tanh(x))
TANDEM_UNARY_FUNCTOR(Sigmoid, math::sigmoid(x))
TANDEM_UNARY_FUNCTOR(Erf, math::erf(x))
TANDEM_UNARY_FUNCTOR(Erfc, math::erfc(x))
TANDEM_UNARY_FUNCTOR(Reciprocal, T(1) / x)
TANDEM_UNARY_FUNCTOR(Floor, math::floor(x))
TANDEM_UNARY_FUNCTOR(Ceil, math::ceil(x))
TANDEM_UNARY_FUNCTOR(Trunc, math::trunc(x))
TANDEM_UNARY_FUNCTOR(Round, math::rint(x))  // half to even
TANDEM_UNARY_FUNCTOR(Frac, x - math::trunc(x))
TANDEM_UNARY_FUNCTOR(Relu, x < T(0) ? T(0) : x)  // keeps -0 and NaN unchanged, as in PyTorch
TANDEM_UNARY_FUNCTOR(Silu, x* math::sigmoid(x))
TANDEM_UNARY_FUNCTOR(GeluTanh, math::gelu_tanh(x))
TANDEM_UNARY_FUNCTOR(Softsign, x / (T(1) + math::abs(x)))
TANDEM_UNARY_FUNCTOR(BitwiseNot, T(~x))
TANDEM_UNARY_FUNCTOR(Exp2, math::exp2(x))
TANDEM_UNARY_FUNCTOR(Asin, math::asin(x))
TANDEM_UNARY_FUNCTOR(Acos, math::acos(x))
TANDEM_UNARY_FUNCTOR(Atan, math::atan(x))
TANDEM_UNARY_FUNCTOR(Sinh, math::sinh(x))
TANDEM_UNARY_FUNCTOR(Cosh, math::cosh(x))
TANDEM_UNARY_FUNCTOR(Asinh, math::asinh(x))
TANDEM_UNARY_FUNCTOR(Acosh, math::acosh(x))
TANDEM_UNARY_FUNCTOR(Atanh, math::atanh(x))
TANDEM_UNARY_FUNCTOR(Erfinv, math::erfinv(x))
TANDEM_UNARY_FUNCTOR(Erfcx, math::erfcx(x))
TANDEM_UNARY_FUNCTOR(Ndtri, math::ndtri(x))
TANDEM_UNARY_FUNCTOR(Lgamma, math::lgamma(x))
TANDEM_UNARY_FUNCTOR(Digamma, math::digamma(x))
TANDEM_UNARY_FUNCTOR(I0, math::i0(x))
TANDEM_UNARY_FUNCTOR(I0e, math::i0e(x))
TANDEM_UNARY_FUNCTOR(I1, math::i1(x))
TANDEM_UNARY_FUNCTOR(I1e, math::i1e(x))

/// Defines functors with a fast path, fast_path(), for all but a few floats. A loop tests has_fast_path() for the
/// elements of a block, computes fast_path() for the whole block, and recomputes the other elements by operator().
#define TANDEM_FAST_PATH_UNARY_FUNCTOR(Name, function, condition)                                               \
  template <class T> struct Name {                                                                              \
    TANDEM_HD T operator()(T x) const { return math::function(x); }                                             \
    TANDEM_HD static bool has_fast_path(float x) { return condition; }                                          \
    TANDEM_HD static T fast_path(T x) requires math::kIsSameType<T, float> { return math::fast_##function(x); } \
  };
TANDEM_FAST_PATH_UNARY_FUNCTOR(Exp, exp, math::has_fast_exp(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Log, log, math::has_fast_log(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Log2, log2, math::has_fast_log(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Log10, log10, math::has_fast_log(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Sin, sin, math::is_fast_angle(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Cos, cos, math::is_fast_angle(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Tan, tan, math::is_fast_angle(x))
TANDEM_FAST_PATH_UNARY_FUNCTOR(Gelu, gelu, math::has_fast_gelu(x))

/// y = x > 0 ? x : slope * x
template <class T> struct LeakyRelu {
  T slope;
  TANDEM_HD T operator()(T x) const { return x > T(0) ? x : slope * x; }
};
/// y = x < 0 ? alpha (e^x - 1) : x; -0 stays -0, even if alpha is negative
template <class T> struct Elu {
  T alpha;
  TANDEM_HD T operator()(T x) const { return x < T(0) ? alpha * math::expm1(x) : x; }
};
/// y = ln(1 + e^(beta x)) / beta, or y = x if beta x > threshold
template <class T> struct Softplus {
  T beta, threshold;
  TANDEM_HD T operator()(T x) const {
    const T scaled = x * beta, raised = scaled < T(0) ? T(0) : scaled;
    const T y = raised + math::log1p_of_fraction(math::exp(-math::abs(scaled)));
    return scaled > threshold ? x : y * (T(1) / beta);
  }
};
/// y = min(max(x, low), high); NaN stays NaN
template <class T> struct Clamp {
  T low, high;
  TANDEM_HD T operator()(T x) const {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;  // if low > high, the result is high
  }
};

#define TANDEM_BINARY_FUNCTOR(Name, expression)                   \
  template <class T> struct Name {                                \
    TANDEM_HD T operator()(T a, T b) const { return expression; } \
  };
TANDEM_BINARY_FUNCTOR(Mul, math::mul(a, b))
TANDEM_BINARY_FUNCTOR(Maximum, math::max(a, b))
TANDEM_BINARY_FUNCTOR(Minimum, math::min(a, b))
TANDEM_BINARY_FUNCTOR(Atan2, math::atan2(a, b))
TANDEM_BINARY_FUNCTOR(BitwiseAnd, T(a& b))
TANDEM_BINARY_FUNCTOR(BitwiseOr, T(a | b))
TANDEM_BINARY_FUNCTOR(BitwiseXor, T(a ^ b))
TANDEM_BINARY_FUNCTOR(SquaredDifference, T((a - b) * (a - b)))
TANDEM_BINARY_FUNCTOR(Fmax, a >= b || b != b ? a : b)
TANDEM_BINARY_FUNCTOR(Fmin, a <= b || b != b ? a : b)
TANDEM_BINARY_FUNCTOR(Nextafter, math::nextafter(a, b))
TANDEM_BINARY_FUNCTOR(Igamma, math::igamma(a, b))
TANDEM_BINARY_FUNCTOR(Igammac, math::igammac(a, b))
TANDEM_BINARY_FUNCTOR(Zeta, math::zeta(a, b))
TANDEM_BINARY_FUNCTOR(Gcd, math::gcd(a, b))
TANDEM_BINARY_FUNCTOR(Lcm, math::lcm(a, b))
TANDEM_BINARY_FUNCTOR(LeftShift, math::left_shift(a, b))
TANDEM_BINARY_FUNCTOR(RightShift, math::right_shift(a, b))
// Gradients as functions of a, the gradient of the output, and b, the saved tensor. b is the input x unless a comment
// says that it is the output y.
TANDEM_BINARY_FUNCTOR(GeluBackward, a* math::gelu_derivative(b))
TANDEM_BINARY_FUNCTOR(GeluTanhBackward, a* math::gelu_tanh_derivative(b))
TANDEM_BINARY_FUNCTOR(SiluBackward, math::silu_derivative(b) * a)
TANDEM_BINARY_FUNCTOR(ReluBackward,
                      b <= T(0) ? T(0) : a)  // b is the output y; if b is NaN, the gradient a passes through
TANDEM_BINARY_FUNCTOR(SigmoidBackward, a* b*(T(1) - b))  // b is the output y
TANDEM_BINARY_FUNCTOR(TanhBackward, a*(T(1) - b * b))    // b is the output y
/// a + alpha * b
template <class T> struct AddScaled {
  T alpha;
  TANDEM_HD T operator()(T a, T b) const { return math::add(a, math::mul(alpha, b)); }
};
template <class T> struct LeakyReluBackward {
  T slope;
  TANDEM_HD T operator()(T dy, T x) const { return x > T(0) ? dy : slope * dy; }
};
template <class T> struct EluBackward {
  T alpha;
  TANDEM_HD T operator()(T dy, T x) const {
    const T slope = alpha * math::exp(x);
    return x > T(0) ? dy : dy * slope;
  }
};
template <class T> struct SoftplusBackward {
  T beta, threshold;
  TANDEM_HD T operator()(T dy, T x) const {
    const T scaled = x * beta, slope = math::sigmoid(scaled);
    return scaled > threshold ? dy : dy * slope;
  }
};
/// True division of floating types.
TANDEM_BINARY_FUNCTOR(Div, T(a / b))
/// Modulo as in C: the result has the sign of the dividend. For integers, a % 0 is 0 (PyTorch throws; on the CPU
/// check_divisor() does), and a % -1 is 0, because the division would overflow for the lowest integer.
template <class T> struct Fmod {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kIsFloatingType<T>)
      return math::fmod(a, b);
    else
      return b == T(0) || b == T(-1) ? T(0) : T(a % b);
  }
  TANDEM_HD static bool has_fast_path(float a, float b) { return math::is_fast_quotient(a, b); }
  TANDEM_HD static T fast_path(T a, T b) requires math::kIsSameType<T, float> { return math::fast_fmod(a, b); }
};
/// Modulo as in Python: the result has the sign of the divisor.
template <class T> struct Remainder {
  TANDEM_HD static T of(T r, T b) { return r != T(0) && (r < T(0)) != (b < T(0)) ? T(r + b) : r; }
  TANDEM_HD T operator()(T a, T b) const { return of(Fmod<T>()(a, b), b); }
  TANDEM_HD static bool has_fast_path(float a, float b) { return math::is_fast_quotient(a, b); }
  TANDEM_HD static T fast_path(T a, T b) requires math::kIsSameType<T, float> { return of(math::fast_fmod(a, b), b); }
};
/// Quotient rounded down, not towards zero. For floating types it is computed from the remainder, because a / b may
/// round up to an integer that the exact quotient does not reach.
template <class T> struct FloorDivide {
  TANDEM_HD static T of(T a, T b, T rest) {
    T q = (a - rest) / b;
    q = rest != T(0) && (b < T(0)) != (rest < T(0)) ? q - T(1) : q;
    const T whole = math::floor(q), nearest = q - whole > T(0.5) ? whole + T(1) : whole;
    return b == T(0) ? a / b : q == T(0) ? math::copysign(T(0), a / b) : nearest;
  }
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kIsFloatingType<T>) {
      return of(a, b, math::fmod(a, b));
    } else {
      if (b == T(0)) return T(0);
      if (b == T(-1)) return math::neg(a);
      const T q = T(a / b);
      return T(a % b) != T(0) && (a < T(0)) != (b < T(0)) ? T(q - 1) : q;
    }
  }
  TANDEM_HD static bool has_fast_path(float a, float b) { return math::is_fast_quotient(a, b); }
  TANDEM_HD static T fast_path(T a, T b) requires math::kIsSameType<T, float> {
    return of(a, b, math::fast_fmod(a, b));
  }
};
template <class T> struct Pow {
  TANDEM_HD T operator()(T a, T b) const {
    if constexpr (math::kIsFloatingType<T>)
      return math::pow(a, b);
    else {
      if (b < T(0)) return a == T(1) ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
      uint64_t result = 1, base = uint64_t(a);  // computed as unsigned numbers, so that overflow wraps
      for (T e = b; e > T(0); e = T(e / 2), base *= base)
        if (e % 2) result *= base;
      return T(result);
    }
  }
};

#define TANDEM_COMPARISON_FUNCTOR(Name, expression)                  \
  template <class T> struct Name {                                   \
    TANDEM_HD bool operator()(T a, T b) const { return expression; } \
  };
TANDEM_COMPARISON_FUNCTOR(Eq, a == b)
TANDEM_COMPARISON_FUNCTOR(Ne, a != b)
TANDEM_COMPARISON_FUNCTOR(Lt, a < b)
TANDEM_COMPARISON_FUNCTOR(Le, a <= b)
TANDEM_COMPARISON_FUNCTOR(Gt, a > b)
TANDEM_COMPARISON_FUNCTOR(Ge, a >= b)
TANDEM_COMPARISON_FUNCTOR(LogicalAnd, a != T(0) && b != T(0))
TANDEM_COMPARISON_FUNCTOR(LogicalOr, a != T(0) || b != T(0))
TANDEM_COMPARISON_FUNCTOR(LogicalXor, (a != T(0)) != (b != T(0)))
#define TANDEM_PREDICATE_FUNCTOR(Name, expression)              \
  template <class T> struct Name {                              \
    TANDEM_HD bool operator()(T x) const { return expression; } \
  };
TANDEM_PREDICATE_FUNCTOR(IsNan, x != x)
TANDEM_PREDICATE_FUNCTOR(IsInf, x - x != x - x && x == x)
TANDEM_PREDICATE_FUNCTOR(IsFinite, x - x == x - x)
TANDEM_PREDICATE_FUNCTOR(LogicalNot, x == T(0))

}  // namespace tandem
