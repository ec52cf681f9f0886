// Logarithms of sums of powers: logaddexp, logaddexp2.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns ln(e^a + e^b), or log2(2^a + 2^b), computed without overflow, for floating dtypes.
inline Tensor logaddexp(const Tensor& a, const Tensor& b) { return a.logaddexp(b); }
inline Tensor logaddexp2(const Tensor& a, const Tensor& b) { return a.logaddexp2(b); }

Tensor& logaddexp_out(Tensor& out, const Tensor& a, const Tensor& b);
Tensor& logaddexp2_out(Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace tandem
