// Gamma functions: lgamma, digamma, polygamma, mvlgamma (multigammaln), igamma, igammac.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_GAMMA_OPS(TANDEM_DECLARE_UNARY_OP)
TANDEM_INCOMPLETE_GAMMA_OPS(TANDEM_DECLARE_BINARY_OP)
/// Returns the (n + 1)-th derivative of ln Gamma(x). @throws Error if n is negative
inline Tensor polygamma(int64_t n, const Tensor& x) { return x.polygamma(n); }
/// Returns the logarithm of the multivariate gamma function of dimension p: the sum of lgamma(x - j/2) over j = 0 ... p
/// - 1, plus p (p - 1) / 4 ln(pi). @throws Error if p is below 1
inline Tensor mvlgamma(const Tensor& x, int64_t p) { return x.mvlgamma(p); }

Tensor& polygamma_out(Tensor& out, int64_t n, const Tensor& x);
Tensor& mvlgamma_out(Tensor& out, const Tensor& x, int64_t p);

}  // namespace tandem
