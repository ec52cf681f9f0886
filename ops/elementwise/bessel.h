// Bessel's and Airy's functions: i0, and of torch.special i0e, i1, i1e, bessel_j0, bessel_j1, bessel_y0, bessel_y1,
// modified_bessel_i0, modified_bessel_k0, scaled_modified_bessel_k0, spherical_bessel_j0, airy_ai, ... These are in
// namespace tandem as special_bessel_j0, in tandem::special as bessel_j0.
#pragma once
#include "tandem/ops/declare_op.h"
#include "tandem/ops/write_result.h"

namespace tandem {

// core/elementwise_ops.h says what they compute.
TANDEM_BESSEL_OPS(TANDEM_DECLARE_UNARY_OP)
TANDEM_SPECIAL_BESSEL_OPS(TANDEM_DECLARE_SPECIAL_OP)

// f(x) of float32 and float64 (integers and bool become the default floating dtype first), computed on the host in
// float64, without a gradient: backward throws NotImplementedError, as PyTorch's does.
// clang-format off
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

// A form with an output of a function of any arguments.
#define TANDEM_BESSEL_OUT(form, function)                                                  \
  template <class... Args> Tensor& form(Tensor& out, const Args&... args) {                \
    return tandem::detail::write_result(#function "_out", out, tandem::function(args...)); \
  }
#define TANDEM_DECLARE_BESSEL(name, ...)                            \
  Tensor special_##name(const Tensor& x);                           \
  TANDEM_BESSEL_OUT(special_##name##_out, special_##name)           \
  namespace special {                                               \
  inline Tensor name(const Tensor& x) { return special_##name(x); } \
  TANDEM_BESSEL_OUT(name##_out, special_##name)                     \
  }
TANDEM_BESSEL_FUNCTIONS(TANDEM_DECLARE_BESSEL)
#undef TANDEM_DECLARE_BESSEL
/// Other spellings of i0 and special_i1.
inline Tensor special_modified_bessel_i0(const Tensor& x) { return x.i0(); }
inline Tensor special_modified_bessel_i1(const Tensor& x) { return special_i1(x); }
TANDEM_BESSEL_OUT(special_modified_bessel_i0_out, special_modified_bessel_i0)
TANDEM_BESSEL_OUT(special_modified_bessel_i1_out, special_modified_bessel_i1)
namespace special {
// As the functions named special_modified_bessel_i0 and so on.

inline Tensor modified_bessel_i0(const Tensor& x) { return x.i0(); }
inline Tensor modified_bessel_i1(const Tensor& x) { return special_i1(x); }
/// The forms that write into `out`.
TANDEM_BESSEL_OUT(modified_bessel_i0_out, special_modified_bessel_i0)
TANDEM_BESSEL_OUT(modified_bessel_i1_out, special_modified_bessel_i1)
}  // namespace special
#undef TANDEM_BESSEL_OUT

}  // namespace tandem
