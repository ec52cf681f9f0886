// Sums with matrix products: addmm, addmv, addr, baddbmm, addbmm. The factors of a product must have one dtype other
// than bool, as in ops/products/matmul.h; only the operands of addr promote. For integer products, beta and alpha must
// be integers.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns beta * bias + alpha * (a b) for matrices a (n, k) and b (k, m). bias broadcasts to (n, m).
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1);
/// addmm and baddbmm whose result has another dtype: float32 for half types (see mm).
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, DType out_dtype, detail::Real beta = 1,
             detail::Real alpha = 1);
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, DType out_dtype, detail::Real beta = 1,
               detail::Real alpha = 1);
/// Returns beta * x + alpha * (matrix vector) for matrix (n, k) and vector (k,). x broadcasts to (n,).
inline Tensor addmv(const Tensor& x, const Tensor& matrix, const Tensor& vector, detail::Real beta = 1,
                    detail::Real alpha = 1) {
  return x.addmv(matrix, vector, beta, alpha);
}
inline Tensor& addmv_(Tensor& x, const Tensor& matrix, const Tensor& vector, detail::Real beta = 1,
                      detail::Real alpha = 1) {
  return x.addmv_(matrix, vector, beta, alpha);
}
/// Returns beta * x plus alpha times the outer product of a (n,) and b (m,). x broadcasts to (n, m).
inline Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) {
  return x.addr(a, b, beta, alpha);
}
/// Returns beta * x plus alpha times the products of pairs of matrices (batch, n, k) and (batch, k, m). x broadcasts to
/// (batch, n, m).
inline Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, detail::Real beta = 1,
                      detail::Real alpha = 1) {
  return x.baddbmm(a, b, beta, alpha);
}
/// Returns beta * x plus alpha times the sum of the products of pairs of matrices (batch, n, k) and (batch, k, m). x
/// broadcasts to (n, m).
inline Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, detail::Real beta = 1, detail::Real alpha = 1) {
  return x.addbmm(a, b, beta, alpha);
}

}  // namespace tandem
