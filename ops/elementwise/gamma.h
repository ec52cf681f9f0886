// Gamma functions: lgamma, digamma, polygamma, mvlgamma (multigammaln), igamma, igammac.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what they compute.
TANDEM_GAMMA_OPS(TANDEM_DECLARE_UNARY_OP)
TANDEM_INCOMPLETE_GAMMA_OPS(TANDEM_DECLARE_BINARY_OP)
/// The derivative number n + 1 of ln Gamma(x). @throws Error for a negative n
inline Tensor polygamma(int64_t n, const Tensor& x) { return x.polygamma(n); }
/// ln of the multivariate gamma function of dimension p: the sum of lgamma(x - j/2) over j = 0 ... p - 1, plus
/// p (p - 1) / 4 ln(pi). @throws Error for p below 1
inline Tensor mvlgamma(const Tensor& x, int64_t p) { return x.mvlgamma(p); }

Tensor& polygamma_out(Tensor& out, int64_t n, const Tensor& x);
Tensor& mvlgamma_out(Tensor& out, const Tensor& x, int64_t p);

}  // namespace tandem
