// Bessel and Airy functions: i0; and from torch.special i0e, i1, i1e, bessel_j0, bessel_j1, bessel_y0, bessel_y1,
// modified_bessel_i0, modified_bessel_k0, scaled_modified_bessel_k0, spherical_bessel_j0, airy_ai, ... Namespace tandem
// has the functions of torch.special with a prefix (special_bessel_j0), tandem::special without one (bessel_j0).
#pragma once
#include "tandem/ops/declare_op.h"
#include "tandem/ops/write_result.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_BESSEL_OPS(TANDEM_DECLARE_UNARY_OP)
TANDEM_SPECIAL_BESSEL_OPS(TANDEM_DECLARE_SPECIAL_OP)

// Functions f(x) that the host computes in float64. They accept float32 and float64; integers and bool become the
// default floating dtype first. bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_k0 and modified_bessel_k1
// have derivatives; backward of the others throws NotImplementedError, as in PyTorch.
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

// Defines `form` as the out version of `function`, for any list of arguments.
#define TANDEM_DEFINE_BESSEL_OUT(form, function)                                           \
  template <class... Args> Tensor& form(Tensor& out, const Args&... args) {                \
    return tandem::detail::write_result(#function "_out", out, tandem::function(args...)); \
  }
#define TANDEM_DECLARE_BESSEL_FUNCTION(name, ...)                   \
  Tensor special_##name(const Tensor& x);                           \
  TANDEM_DEFINE_BESSEL_OUT(special_##name##_out, special_##name)    \
  namespace special {                                               \
  inline Tensor name(const Tensor& x) { return special_##name(x); } \
  TANDEM_DEFINE_BESSEL_OUT(name##_out, special_##name)              \
  }
TANDEM_BESSEL_FUNCTIONS(TANDEM_DECLARE_BESSEL_FUNCTION)
#undef TANDEM_DECLARE_BESSEL_FUNCTION
/// Aliases of i0 and special_i1.
inline Tensor special_modified_bessel_i0(const Tensor& x) { return x.i0(); }
inline Tensor special_modified_bessel_i1(const Tensor& x) { return special_i1(x); }
TANDEM_DEFINE_BESSEL_OUT(special_modified_bessel_i0_out, special_modified_bessel_i0)
TANDEM_DEFINE_BESSEL_OUT(special_modified_bessel_i1_out, special_modified_bessel_i1)
namespace special {
// Aliases of the functions with the prefix special_.

inline Tensor modified_bessel_i0(const Tensor& x) { return x.i0(); }
inline Tensor modified_bessel_i1(const Tensor& x) { return special_i1(x); }
/// Out versions of modified_bessel_i0 and modified_bessel_i1.
TANDEM_DEFINE_BESSEL_OUT(modified_bessel_i0_out, special_modified_bessel_i0)
TANDEM_DEFINE_BESSEL_OUT(modified_bessel_i1_out, special_modified_bessel_i1)
}  // namespace special
#undef TANDEM_DEFINE_BESSEL_OUT

}  // namespace tandem
