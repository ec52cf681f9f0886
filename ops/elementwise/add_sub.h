// Sums and differences: add, sub, subtract, rsub.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// a + alpha b, of broadcast operands and the dtype that both promote to. Of two bools: whether either is true.
inline Tensor add(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
inline Tensor add(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.add(b, alpha); }
/// a - alpha b. @throws Error where both are bool
inline Tensor sub(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor sub(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
/// The forms that write into `out`, as exp_out.
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1);
/// Another spelling of sub.
inline Tensor subtract(const Tensor& a, const Tensor& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor subtract(const Tensor& a, const Scalar& b, const Scalar& alpha = 1) { return a.sub(b, alpha); }
inline Tensor& subtract_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha = 1) {
  return sub_out(out, a, b, alpha);
}
/// other - alpha x
Tensor rsub(const Tensor& x, const Tensor& other, const Scalar& alpha = 1);
Tensor rsub(const Tensor& x, const Scalar& other, const Scalar& alpha = 1);

}  // namespace tandem
