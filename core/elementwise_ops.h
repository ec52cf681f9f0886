// Lists of the elementwise operations, one line each. A line generates the method (x.exp()), the function (exp(x)), the
// in-place forms (x.exp_(), exp_(x)), the out form (exp_out(y, x)), the kernels of both backends, and the operation's
// rows in the tests, the benchmarks and the random search. An operation also needs a functor (kernels/functors.h) and a
// derivative (in its family's source: ops/elementwise/unary.cpp, ops/nn/activation.cpp, ...). If one is missing, the
// compiler or linker names it. This file includes nothing, so any file can expand the lists.
//
// Column `accepts`:
//   any        every dtype
//   numbers    every dtype but bool
//   counted    every dtype; a bool becomes int64 first
//   floating   every dtype; integers and bool become the default floating dtype first
//   real       floating dtypes
//   stepped    floating dtypes; half types are computed from their bits, without a kernel
//   rounded    every dtype but bool; integers are returned unchanged
//   divided    every dtype but bool; integers must not be divided by 0
//   powers     every dtype but bool; integers must not be raised to a negative integer
//   integral   integers and bool
//   integers   integers
// Column `saves`: what the derivative needs: nothing, the input or the output. Binary operations have two columns: what
// the gradient of x needs, and what the gradient of y needs.
#pragma once
// clang-format off

// Unary operations y = f(x), in five lists. Each list has a header and a source in ops/ (ops/elementwise/unary.h,
// ops/nn/activation.h, ...).
#define TANDEM_MATH_OPS(X)                                                                                             \
  /* name        functor     accepts   saves    what it computes                                                  */   \
  X(abs,         Abs,        numbers,  input,   "absolute value |x|; the gradient at 0 is 0")                          \
  X(neg,         Neg,        numbers,  nothing, "-x")                                                                  \
  X(exp,         Exp,        floating, output,  "e^x")                                                                 \
  X(expm1,       Expm1,      floating, output,  "e^x - 1, accurate for x near 0")                                      \
  X(log,         Log,        floating, input,   "natural logarithm; -inf at 0, NaN for negative x")                    \
  X(log1p,       Log1p,      floating, input,   "natural logarithm of 1 + x, accurate for x near 0")                   \
  X(log2,        Log2,       floating, input,   "logarithm to base 2; -inf at 0, NaN for negative x")                  \
  X(log10,       Log10,      floating, input,   "logarithm to base 10; -inf at 0, NaN for negative x")                 \
  X(sqrt,        Sqrt,       floating, output,  "square root; NaN for negative x")                                     \
  X(rsqrt,       Rsqrt,      floating, output,  "1 / sqrt(x)")                                                         \
  X(sin,         Sin,        floating, input,   "sine of x radians")                                                   \
  X(cos,         Cos,        floating, input,   "cosine of x radians")                                                 \
  X(tan,         Tan,        floating, output,  "tangent of x radians")                                                \
  X(tanh,        Tanh,       floating, output,  "hyperbolic tangent")                                                  \
  X(reciprocal,  Reciprocal, floating, output,  "1 / x")                                                               \
  X(square,      Square,     counted,  input,   "x^2")                                                                 \
  X(sign,        Sign,       any,      nothing, "sign of x: -1, 0 or 1, and 0 for NaN; the gradient is 0")             \
  X(floor,       Floor,      rounded,  nothing, "largest integer less than or equal to x; the gradient is 0")          \
  X(ceil,        Ceil,       rounded,  nothing, "smallest integer greater than or equal to x; the gradient is 0")      \
  X(round,       Round,      rounded,  nothing, "nearest integer, with ties rounded to even; the gradient is 0")       \
  X(trunc,       Trunc,      rounded,  nothing, "x rounded towards zero; the gradient is 0")                           \
  X(frac,        Frac,       real,     nothing, "fractional part of x, with the sign of x")                            \
  X(exp2,        Exp2,       floating, output,  "2^x")                                                                 \
  X(asin,        Asin,       floating, input,   "arc sine, from -pi/2 to pi/2; NaN outside [-1, 1]")                   \
  X(acos,        Acos,       floating, input,   "arc cosine, from 0 to pi; NaN outside [-1, 1]")                       \
  X(atan,        Atan,       floating, input,   "arc tangent, from -pi/2 to pi/2")                                     \
  X(sinh,        Sinh,       floating, input,   "hyperbolic sine")                                                     \
  X(cosh,        Cosh,       floating, input,   "hyperbolic cosine")                                                   \
  X(asinh,       Asinh,      floating, input,   "inverse hyperbolic sine")                                             \
  X(acosh,       Acosh,      floating, input,   "inverse hyperbolic cosine; NaN for x below 1")                        \
  X(atanh,       Atanh,      floating, input,   "inverse hyperbolic tangent; NaN outside [-1, 1]")
#define TANDEM_ACTIVATION_OPS(X)                                                                                       \
  X(sigmoid,     Sigmoid,    floating, output,  "1 / (1 + e^-x)")                                                      \
  X(relu,        Relu,       numbers,  output,  "max(x, 0); the gradient at 0 is 0")                                   \
  X(silu,        Silu,       real,     input,   "x sigmoid(x)")                                                        \
  X(gelu,        Gelu,       real,     input,   "x Phi(x), where Phi is the standard normal distribution function")    \
  X(softsign,    Softsign,   floating, input,   "x / (1 + |x|)")
#define TANDEM_ERF_OPS(X)                                                                                              \
  X(erf,         Erf,        floating, input,   "error function")                                                      \
  X(erfc,        Erfc,       floating, input,   "complementary error function 1 - erf(x), accurate for large x")       \
  X(erfinv,      Erfinv,     floating, input,   "inverse of the error function; NaN outside [-1, 1]")
#define TANDEM_GAMMA_OPS(X)                                                                                            \
  X(lgamma,      Lgamma,     floating, input,   "natural logarithm of |Gamma(x)|")                                     \
  X(digamma,     Digamma,    floating, input,   "derivative of ln Gamma(x); NaN at negative integers")
#define TANDEM_BESSEL_OPS(X)                                                                                           \
  X(i0,          I0,         floating, input,   "modified Bessel function of the first kind, of order 0")
#define TANDEM_UNARY_OPS(X)                                                                                            \
  TANDEM_MATH_OPS(X) TANDEM_ACTIVATION_OPS(X) TANDEM_ERF_OPS(X) TANDEM_GAMMA_OPS(X) TANDEM_BESSEL_OPS(X)

// Unary operations that are functions only, without methods and in-place forms: names of torch.special.
#define TANDEM_SPECIAL_ERF_OPS(X)                                                                                      \
  X(special_erfcx, Erfcx, floating, input,  "scaled complementary error function e^(x^2) erfc(x)")                     \
  X(special_ndtri, Ndtri, floating, output, "inverse of the standard normal distribution function; NaN outside [0, 1]")
#define TANDEM_SPECIAL_BESSEL_OPS(X)                                                                                   \
  X(special_i0e,   I0e,   floating, input,  "exponentially scaled Bessel function e^-|x| i0(x)")                       \
  X(special_i1,    I1,    floating, input,  "modified Bessel function of the first kind, of order 1")                  \
  X(special_i1e,   I1e,   floating, input,  "exponentially scaled Bessel function e^-|x| special_i1(x)")
#define TANDEM_SPECIAL_OPS(X) TANDEM_SPECIAL_ERF_OPS(X) TANDEM_SPECIAL_BESSEL_OPS(X)

// Unary operations without a derivative. logical_not returns bool.
#define TANDEM_LOGICAL_NOT_OPS(X)                                                                                      \
  X(logical_not, LogicalNot, any,      nothing, "true if x is 0")
#define TANDEM_BITWISE_NOT_OPS(X)                                                                                      \
  X(bitwise_not, BitwiseNot, integral, nothing, "bitwise NOT; logical NOT for bool")
#define TANDEM_NOT_OPS(X) TANDEM_LOGICAL_NOT_OPS(X) TANDEM_BITWISE_NOT_OPS(X)

// Predicates: they accept any dtype and return bool. There is no in-place form.
#define TANDEM_PREDICATE_OPS(X)                                                                                        \
  X(isnan,       IsNan,      "true if x is NaN")                                                                       \
  X(isinf,       IsInf,      "true if x is infinite")                                                                  \
  X(isfinite,    IsFinite,   "true if x is neither infinite nor NaN")

// Binary operations z = f(x, y). The operands broadcast against each other; y may be a number.
#define TANDEM_ARITHMETIC_OPS(X)                                                                                       \
  /* name          functor      accepts   for x    for y       what it computes                                    */  \
  X(mul,           Mul,         any,      y,       x,          "product of x and y")                                   \
  X(div,           Div,         floating, y,       x_y,        "x / y")                                                \
  X(pow,           Pow,         powers,   x_y,     x_y_output, "x^y")                                                  \
  X(fmod,          Fmod,        divided,  nothing, x_y,        "remainder of x / y, with the sign of x")               \
  X(remainder,     Remainder,   divided,  nothing, x_y,        "remainder of x / y, with the sign of y")               \
  X(floor_divide,  FloorDivide, divided,  nothing, nothing,    "floor(x / y), without a derivative")                   \
  X(maximum,       Maximum,     any,      x_y,     x_y,        "larger of x and y, or NaN if either is NaN; equal values share the gradient evenly") \
  X(minimum,       Minimum,     any,      x_y,     x_y,        "smaller of x and y, or NaN if either is NaN; equal values share the gradient evenly") \
  X(atan2,         Atan2,       floating, x_y,     x_y,        "arc tangent of x / y in the quadrant of the point (y, x), in radians from -pi to pi") \
  X(fmax,          Fmax,        any,      x_y,     x_y,        "larger of x and y, ignoring a NaN if the other is a number; equal values share the gradient evenly") \
  X(fmin,          Fmin,        any,      x_y,     x_y,        "smaller of x and y, ignoring a NaN if the other is a number; equal values share the gradient evenly") \
  X(nextafter,     Nextafter,   stepped,  x_y,     nothing,    "next floating-point number after x in the direction of y; the gradient of x is 0 where x equals y, and the gradient of y is always 0")
#define TANDEM_INCOMPLETE_GAMMA_OPS(X)                                                                                 \
  X(igamma,        Igamma,      real,     nothing, x_y,        "regularised lower incomplete gamma function P(x, y); no derivative with respect to x") \
  X(igammac,       Igammac,     real,     nothing, x_y,        "regularised upper incomplete gamma function 1 - P(x, y); no derivative with respect to x")
#define TANDEM_BINARY_OPS(X) TANDEM_ARITHMETIC_OPS(X) TANDEM_INCOMPLETE_GAMMA_OPS(X)

// Binary operations that are functions only, without methods and in-place forms.
#define TANDEM_SPECIAL_BINARY_OPS(X)                                                                                   \
  X(special_zeta,  Zeta,        floating, nothing, x_y,        "Hurwitz zeta function, the sum of 1 / (k + y)^x over k = 0, 1, ...; no derivative with respect to x")

#define TANDEM_BITWISE_OPS(X)                                                                                          \
  X(bitwise_and,   BitwiseAnd,  integral, nothing, nothing,    "bitwise AND; logical AND for bool")                    \
  X(bitwise_or,    BitwiseOr,   integral, nothing, nothing,    "bitwise OR; logical OR for bool")                      \
  X(bitwise_xor,   BitwiseXor,  integral, nothing, nothing,    "bitwise XOR; logical XOR for bool")

#define TANDEM_GCD_OPS(X)                                                                                              \
  X(gcd,                 Gcd,        integers, nothing, nothing, "greatest common divisor; 0 if both are 0")           \
  X(lcm,                 Lcm,        integers, nothing, nothing, "least common multiple; 0 if either is 0")
#define TANDEM_SHIFT_OPS(X)                                                                                            \
  X(bitwise_left_shift,  LeftShift,  integers, nothing, nothing, "x shifted left by y bits; 0 if y is negative or at least the number of bits of x") \
  X(bitwise_right_shift, RightShift, integers, nothing, nothing, "x shifted right by y bits, which copies the sign; 0 or -1 if y is negative or at least the number of bits of x")
#define TANDEM_INTEGER_OPS(X) TANDEM_GCD_OPS(X) TANDEM_SHIFT_OPS(X)

// Comparisons and logical operations; they return bool.
#define TANDEM_COMPARISON_OPS(X)                                                                                            \
  X(eq,            Eq,          any,      nothing, nothing,    "x == y")                                               \
  X(ne,            Ne,          any,      nothing, nothing,    "x != y")                                               \
  X(lt,            Lt,          any,      nothing, nothing,    "x < y")                                                \
  X(le,            Le,          any,      nothing, nothing,    "x <= y")                                               \
  X(gt,            Gt,          any,      nothing, nothing,    "x > y")                                                \
  X(ge,            Ge,          any,      nothing, nothing,    "x >= y")
#define TANDEM_LOGICAL_OPS(X)                                                                                          \
  X(logical_and,   LogicalAnd,  any,      nothing, nothing,    "true if both x and y are nonzero")                     \
  X(logical_or,    LogicalOr,   any,      nothing, nothing,    "true if x or y is nonzero")                            \
  X(logical_xor,   LogicalXor,  any,      nothing, nothing,    "true if exactly one of x and y is nonzero")
#define TANDEM_COMPARE_OPS(X) TANDEM_COMPARISON_OPS(X) TANDEM_LOGICAL_OPS(X)

// Gradients dx = f(dy, saved) with a kernel of their own. Each is an operation, declared in ops/backward.h.
#define TANDEM_GRADIENT_OPS(X)                                                                                         \
  X(relu_backward,    ReluBackward)                                                                                    \
  X(sigmoid_backward, SigmoidBackward)                                                                                 \
  X(tanh_backward,    TanhBackward)                                                                                    \
  X(gelu_backward,    GeluBackward)                                                                                    \
  X(gelu_tanh_backward, GeluTanhBackward)                                                                              \
  X(silu_backward,    SiluBackward)

#define TANDEM_ALL_UNARY_OPS(X) TANDEM_UNARY_OPS(X) TANDEM_NOT_OPS(X)
#define TANDEM_ALL_BINARY_OPS(X)                                                                                       \
  TANDEM_BINARY_OPS(X) TANDEM_BITWISE_OPS(X) TANDEM_INTEGER_OPS(X) TANDEM_COMPARE_OPS(X)

// Aliases: other names for an operation, in all its forms.
#define TANDEM_UNARY_ALIASES(X)                                                                                        \
  X(absolute, abs)                                                                                                     \
  X(negative, neg)                                                                                                     \
  X(sgn,      sign)                                                                                                    \
  X(fix,      trunc)                                                                                                   \
  X(arcsin,   asin)                                                                                                    \
  X(arccos,   acos)                                                                                                    \
  X(arctan,   atan)                                                                                                    \
  X(arcsinh,  asinh)                                                                                                   \
  X(arccosh,  acosh)                                                                                                   \
  X(arctanh,  atanh)
#define TANDEM_ARITHMETIC_ALIASES(X)                                                                                   \
  X(multiply,      mul)                                                                                                \
  X(divide,        div)                                                                                                \
  X(true_divide,   div)                                                                                                \
  X(arctan2,       atan2)
#define TANDEM_COMPARISON_ALIASES(X)                                                                                        \
  X(not_equal,     ne)                                                                                                 \
  X(less,          lt)                                                                                                 \
  X(less_equal,    le)                                                                                                 \
  X(greater,       gt)                                                                                                 \
  X(greater_equal, ge)
#define TANDEM_BINARY_ALIASES(X) TANDEM_ARITHMETIC_ALIASES(X) TANDEM_COMPARISON_ALIASES(X)

// Kinds of tensors, numbers and devices that LibTorch has and Tandem does not. Each gets a method and a function that
// return false.
#define TANDEM_UNSUPPORTED_KIND_PREDICATES(X)                                                                                         \
  X(is_complex) X(is_conj) X(is_distributed) X(is_hip) X(is_hpu) X(is_ipu) X(is_lazy) X(is_maia)                        \
  X(is_meta) X(is_metal) X(is_mkldnn) X(is_mps) X(is_mtia) X(is_neg) X(is_nested) X(is_privateuseone) X(is_quantized)  \
  X(is_sparse) X(is_sparse_csr) X(is_ve) X(is_vulkan) X(is_xla) X(is_xpu)
// clang-format on
