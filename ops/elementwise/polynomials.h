// Orthogonal polynomials of torch.special: Chebyshev, Hermite, Laguerre, Legendre. Namespace tandem has them with a
// prefix (special_legendre_polynomial_p), tandem::special without one (legendre_polynomial_p). They accept float32 and
// float64; integers and bool become the default floating dtype first.
#pragma once
#include "tandem/ops/write_result.h"

namespace tandem {

// Functions p(x, n) with argument x and degree n. x and n broadcast, and either may be a number. The fraction of a
// degree is dropped, and p is 0 for a negative degree. Values are computed by recurrence, with as many steps for every
// element as the largest degree, which the host reads. Only x has a gradient; autograd derives it from the recurrence.
// @throws NotImplementedError for half types
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
// clang-format on

#define TANDEM_DECLARE_POLYNOMIAL(name, ...)                                                            \
  Tensor special_##name(const Tensor& x, const Tensor& n);                                              \
  Tensor special_##name(const Tensor& x, const Scalar& n);                                              \
  Tensor special_##name(const Scalar& x, const Tensor& n);                                              \
  template <class... Args> Tensor& special_##name##_out(Tensor& out, const Args&... args) {             \
    return tandem::detail::write_result("special_" #name "_out", out, tandem::special_##name(args...)); \
  }                                                                                                     \
  namespace special {                                                                                   \
  inline Tensor name(const Tensor& x, const Tensor& n) { return special_##name(x, n); }                 \
  inline Tensor name(const Tensor& x, const Scalar& n) { return special_##name(x, n); }                 \
  inline Tensor name(const Scalar& x, const Tensor& n) { return special_##name(x, n); }                 \
  template <class... Args> Tensor& name##_out(Tensor& out, const Args&... args) {                       \
    return tandem::special_##name##_out(out, args...);                                                  \
  }                                                                                                     \
  }
TANDEM_POLYNOMIALS(TANDEM_DECLARE_POLYNOMIAL)
#undef TANDEM_DECLARE_POLYNOMIAL

}  // namespace tandem
