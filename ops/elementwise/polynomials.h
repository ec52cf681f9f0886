// torch.special: orthogonal polynomials, and Bessel's and Airy's functions. In namespace tandem as special_bessel_j0,
// in tandem::special as bessel_j0. Of float32 and float64; integers and bool become the default floating dtype first.
#pragma once
#include "tandem/ops/out_forms.h"

namespace tandem {

// p(x, n): x and the degrees n broadcast, either may be a number, and p is 0 for a negative degree. A degree with a
// fraction counts without it. The gradient is that of x, and by recurrence, as the values are: n steps for all
// elements, of which the host reads the largest. @throws NotImplementedError for half types
// clang-format off
#define TANDEM_POLYNOMIALS(X)                                                                                          \
  X(chebyshev_polynomial_t,         "Chebyshev's of the first kind: cos(n acos x)")                                    \
  X(chebyshev_polynomial_u,         "Chebyshev's of the second kind: sin((n + 1) acos x) / sin(acos x)")               \
  X(chebyshev_polynomial_v,         "Chebyshev's of the third kind: cos((n + 1/2) acos x) / cos(acos(x) / 2)")         \
  X(chebyshev_polynomial_w,         "Chebyshev's of the fourth kind: sin((n + 1/2) acos x) / sin(acos(x) / 2)")        \
  X(shifted_chebyshev_polynomial_t, "chebyshev_polynomial_t of 2 x - 1")                                               \
  X(shifted_chebyshev_polynomial_u, "chebyshev_polynomial_u of 2 x - 1")                                               \
  X(shifted_chebyshev_polynomial_v, "chebyshev_polynomial_v of 2 x - 1")                                               \
  X(shifted_chebyshev_polynomial_w, "chebyshev_polynomial_w of 2 x - 1")                                               \
  X(hermite_polynomial_h,           "Hermite's, orthogonal under e^(-x^2)")                                            \
  X(hermite_polynomial_he,          "Hermite's, orthogonal under e^(-x^2 / 2)")                                        \
  X(laguerre_polynomial_l,          "Laguerre's")                                                                      \
  X(legendre_polynomial_p,          "Legendre's")

// f(x), computed on the host in float64, without a gradient: backward throws NotImplementedError, as PyTorch's does.
#define TANDEM_BESSEL_FUNCTIONS(X)                                                                                     \
  X(airy_ai,                   "Airy's function Ai")                                                                   \
  X(bessel_j0,                 "Bessel's function of the first kind, of order 0")                                      \
  X(bessel_j1,                 "Bessel's function of the first kind, of order 1")                                      \
  X(bessel_y0,                 "Bessel's function of the second kind, of order 0; -inf at 0, NaN below")               \
  X(bessel_y1,                 "Bessel's function of the second kind, of order 1; -inf at 0, NaN below")               \
  X(modified_bessel_k0,        "modified Bessel function of the second kind, of order 0; inf at 0, NaN below")         \
  X(modified_bessel_k1,        "modified Bessel function of the second kind, of order 1; inf at 0, NaN below")         \
  X(scaled_modified_bessel_k0, "e^x modified_bessel_k0(x)")                                                            \
  X(scaled_modified_bessel_k1, "e^x modified_bessel_k1(x)")                                                            \
  X(spherical_bessel_j0,       "sin(x) / x; 1 at 0")
// clang-format on

#define TANDEM_DECLARE(name, ...)                                                       \
  Tensor special_##name(const Tensor& x, const Tensor& n);                              \
  Tensor special_##name(const Tensor& x, const Scalar& n);                              \
  Tensor special_##name(const Scalar& x, const Tensor& n);                              \
  TANDEM_SPECIAL_OUT(special_##name##_out, special_##name)                              \
  namespace special {                                                                   \
  inline Tensor name(const Tensor& x, const Tensor& n) { return special_##name(x, n); } \
  inline Tensor name(const Tensor& x, const Scalar& n) { return special_##name(x, n); } \
  inline Tensor name(const Scalar& x, const Tensor& n) { return special_##name(x, n); } \
  TANDEM_SPECIAL_OUT(name##_out, special_##name)                                        \
  }
// A form with an output of a function of any arguments.
#define TANDEM_SPECIAL_OUT(form, function)                                                 \
  template <class... Args> Tensor& form(Tensor& out, const Args&... args) {                \
    return tandem::detail::write_result(#function "_out", out, tandem::function(args...)); \
  }
TANDEM_POLYNOMIALS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
#define TANDEM_DECLARE(name, ...)                                   \
  Tensor special_##name(const Tensor& x);                           \
  TANDEM_SPECIAL_OUT(special_##name##_out, special_##name)          \
  namespace special {                                               \
  inline Tensor name(const Tensor& x) { return special_##name(x); } \
  TANDEM_SPECIAL_OUT(name##_out, special_##name)                    \
  }
TANDEM_BESSEL_FUNCTIONS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
/// Other spellings of i0 and special_i1.
inline Tensor special_modified_bessel_i0(const Tensor& x) { return x.i0(); }
inline Tensor special_modified_bessel_i1(const Tensor& x) { return special_i1(x); }
TANDEM_SPECIAL_OUT(special_modified_bessel_i0_out, special_modified_bessel_i0)
TANDEM_SPECIAL_OUT(special_modified_bessel_i1_out, special_modified_bessel_i1)
namespace special {
// As the functions named special_modified_bessel_i0 and so on.

inline Tensor modified_bessel_i0(const Tensor& x) { return x.i0(); }
inline Tensor modified_bessel_i1(const Tensor& x) { return special_i1(x); }
/// The forms that write into `out`.
TANDEM_SPECIAL_OUT(modified_bessel_i0_out, special_modified_bessel_i0)
TANDEM_SPECIAL_OUT(modified_bessel_i1_out, special_modified_bessel_i1)
TANDEM_SPECIAL_OUT(logit_out, special_logit)
TANDEM_SPECIAL_OUT(logsumexp_out, special_logsumexp)
TANDEM_SPECIAL_OUT(multigammaln_out, special_multigammaln)
TANDEM_SPECIAL_OUT(polygamma_out, special_polygamma)
}  // namespace special
#undef TANDEM_SPECIAL_OUT

}  // namespace tandem
