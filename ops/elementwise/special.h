// Functions of torch.special. Namespace tandem has them with a prefix (special_erf), tandem::special without one (erf).
// Some are aliases of operations with other names. Integers and bool become the default floating dtype first, unless
// the aliased operation treats them otherwise.
#pragma once
#include "tandem/ops/elementwise/bessel.h"
#include "tandem/ops/elementwise/binary.h"
#include "tandem/ops/elementwise/erf.h"
#include "tandem/ops/elementwise/gamma.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/write_result.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_SPECIAL_ERF_OPS(TANDEM_DECLARE_SPECIAL_OP)
#define TANDEM_DECLARE_SPECIAL_BINARY(name, ...)                     \
  Tensor name(const Tensor& x, const Tensor& y);                     \
  Tensor name(const Tensor& x, const Scalar& y);                     \
  Tensor name(const Scalar& x, const Tensor& y);                     \
  Tensor& name##_out(Tensor& out, const Tensor& x, const Tensor& y); \
  Tensor& name##_out(Tensor& out, const Tensor& x, const Scalar& y); \
  Tensor& name##_out(Tensor& out, const Scalar& x, const Tensor& y);
TANDEM_SPECIAL_BINARY_OPS(TANDEM_DECLARE_SPECIAL_BINARY)
#undef TANDEM_DECLARE_SPECIAL_BINARY

/// Returns the entropy term -x ln(x): 0 at 0, and -inf for negative x.
Tensor special_entr(const Tensor& x);
Tensor& special_entr_out(Tensor& out, const Tensor& x);
/// ndtr returns the cumulative distribution function of the standard normal distribution, log_ndtr its logarithm, which
/// is accurate for large negative x too.
Tensor special_ndtr(const Tensor& x);
Tensor& special_ndtr_out(Tensor& out, const Tensor& x);
Tensor special_log_ndtr(const Tensor& x);
Tensor& special_log_ndtr_out(Tensor& out, const Tensor& x);
/// Returns x ln(1 + y). If x is 0, the result is 0 unless y is NaN.
Tensor special_xlog1py(const Tensor& x, const Tensor& y);
Tensor special_xlog1py(const Tensor& x, const Scalar& y);
Tensor special_xlog1py(const Scalar& x, const Tensor& y);
Tensor& special_xlog1py_out(Tensor& out, const Tensor& x, const Tensor& y);
Tensor& special_xlog1py_out(Tensor& out, const Tensor& x, const Scalar& y);
Tensor& special_xlog1py_out(Tensor& out, const Scalar& x, const Tensor& y);

// Defines aliases of unary operations: with the prefix special_ in this namespace, and without it in tandem::special.
#define TANDEM_DEFINE_SPECIAL_UNARY_ALIAS(alias, name)                       \
  inline Tensor special_##alias(const Tensor& x) { return tandem::name(x); } \
  inline Tensor& special_##alias##_out(Tensor& out, const Tensor& x) { return tandem::name##_out(out, x); }
#define TANDEM_DEFINE_SPECIAL_FUNCTION(alias, ...)                            \
  inline Tensor alias(const Tensor& x) { return tandem::special_##alias(x); } \
  inline Tensor& alias##_out(Tensor& out, const Tensor& x) { return tandem::special_##alias##_out(out, x); }
// clang-format off
#define TANDEM_SPECIAL_UNARY_ALIASES(X)                                                                          \
  X(erf, erf) X(erfc, erfc) X(erfinv, erfinv) X(exp2, exp2) X(expm1, expm1) X(log1p, log1p) X(expit, sigmoid) \
  X(gammaln, lgamma) X(digamma, digamma) X(psi, digamma) X(i0, i0) X(round, round) X(sinc, sinc)
#define TANDEM_SPECIAL_FUNCTIONS(X) \
  TANDEM_SPECIAL_UNARY_ALIASES(X) X(erfcx) X(ndtr) X(ndtri) X(log_ndtr) X(entr) X(i0e) X(i1) X(i1e)
// clang-format on
TANDEM_SPECIAL_UNARY_ALIASES(TANDEM_DEFINE_SPECIAL_UNARY_ALIAS)
/// round() to a number of decimals.
inline Tensor special_round(const Tensor& x, int64_t decimals) { return x.round(decimals); }
namespace special {
TANDEM_SPECIAL_FUNCTIONS(TANDEM_DEFINE_SPECIAL_FUNCTION)
}  // namespace special

// Aliases of binary operations.
#define TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(prefix, alias, name, A, B)                \
  inline Tensor prefix##alias(const A& x, const B& y) { return tandem::name(x, y); } \
  inline Tensor& prefix##alias##_out(Tensor& out, const A& x, const B& y) { return tandem::name##_out(out, x, y); }
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(special_, gammainc, igamma, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(special_, gammaincc, igammac, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(special_, xlogy, xlogy, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(special_, xlogy, xlogy, Tensor, Scalar)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(special_, xlogy, xlogy, Scalar, Tensor)
// Aliases of logit, mvlgamma, polygamma and logsumexp; softmax and log_softmax with a dtype.

inline Tensor special_logit(const Tensor& x, std::optional<double> eps = {}) { return x.logit(eps); }
inline Tensor& special_logit_out(Tensor& out, const Tensor& x, std::optional<double> eps = {}) {
  return logit_out(out, x, eps);
}
inline Tensor special_multigammaln(const Tensor& x, int64_t p) { return x.mvlgamma(p); }
/// Out version of special_multigammaln.
inline Tensor& special_multigammaln_out(Tensor& out, const Tensor& x, int64_t p) { return mvlgamma_out(out, x, p); }
inline Tensor special_polygamma(int64_t n, const Tensor& x) { return x.polygamma(n); }
inline Tensor& special_polygamma_out(Tensor& out, int64_t n, const Tensor& x) { return polygamma_out(out, n, x); }
/// Returns softmax along dim, computed in `dtype` (default: x's dtype).
inline Tensor special_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}) {
  return x.to(dtype.value_or(x.dtype())).softmax(dim);
}
/// Returns log_softmax along dim, computed in `dtype` (default: x's dtype).
inline Tensor special_log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}) {
  return x.to(dtype.value_or(x.dtype())).log_softmax(dim);
}
inline Tensor special_logsumexp(const Tensor& x, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.logsumexp(dims, keepdim);
}
namespace special {
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, gammainc, igamma, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, gammaincc, igammac, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, xlogy, xlogy, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, xlogy, xlogy, Tensor, Scalar)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, xlogy, xlogy, Scalar, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, xlog1py, special_xlog1py, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, xlog1py, special_xlog1py, Tensor, Scalar)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, xlog1py, special_xlog1py, Scalar, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, zeta, special_zeta, Tensor, Tensor)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, zeta, special_zeta, Tensor, Scalar)
TANDEM_DEFINE_SPECIAL_BINARY_ALIAS(, zeta, special_zeta, Scalar, Tensor)
// Aliases of the functions with the prefix special_.

inline Tensor logit(const Tensor& x, std::optional<double> eps = {}) { return x.logit(eps); }
inline Tensor multigammaln(const Tensor& x, int64_t p) { return x.mvlgamma(p); }
inline Tensor polygamma(int64_t n, const Tensor& x) { return x.polygamma(n); }
inline Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}) {
  return special_softmax(x, dim, dtype);
}
inline Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {}) {
  return special_log_softmax(x, dim, dtype);
}
inline Tensor logsumexp(const Tensor& x, IntArrayRef dims, detail::Flag keepdim = false) {
  return x.logsumexp(dims, keepdim);
}
/// Defines `form` as the out version of `function`, for any list of arguments.
#define TANDEM_DEFINE_SPECIAL_OUT(form, function)                                          \
  template <class... Args> Tensor& form(Tensor& out, const Args&... args) {                \
    return tandem::detail::write_result(#function "_out", out, tandem::function(args...)); \
  }
TANDEM_DEFINE_SPECIAL_OUT(logit_out, special_logit)
TANDEM_DEFINE_SPECIAL_OUT(logsumexp_out, special_logsumexp)
TANDEM_DEFINE_SPECIAL_OUT(multigammaln_out, special_multigammaln)
TANDEM_DEFINE_SPECIAL_OUT(polygamma_out, special_polygamma)
#undef TANDEM_DEFINE_SPECIAL_OUT
}  // namespace special
#undef TANDEM_DEFINE_SPECIAL_UNARY_ALIAS
#undef TANDEM_DEFINE_SPECIAL_BINARY_ALIAS
#undef TANDEM_DEFINE_SPECIAL_FUNCTION

}  // namespace tandem
