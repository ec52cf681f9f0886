// Sums and differences: add, sub, subtract, rsub.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a + alpha * b. Operands broadcast, and dtypes promote. For two bools, returns a or (alpha and b).
inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
/// Returns a - alpha * b. @throws Error if a or b is bool
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
/// Out versions of add and sub, which write the result into `out`. ops/declare_op.h says which `out` they accept.
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
/// Alias of sub.
inline Tensor subtract(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor subtract(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor& subtract_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return sub_out(out, a, b, alpha);
}
/// Returns other - alpha x.
Tensor rsub(const Tensor& x, const Tensor& other, const Scalar& alpha = 1);
Tensor rsub(const Tensor& x, const Scalar& other, const Scalar& alpha = 1);

}  // namespace tandem
