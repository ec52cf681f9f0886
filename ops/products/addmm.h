// Sums with products: addmm, addmv, addr, baddbmm, addbmm. Operands of a product are of one dtype of numbers, as in
// ops/products/matmul.h.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// beta bias + alpha a b; bias broadcasts to (n, m)
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1);
/// beta x + alpha times matrix (n, k) times vector (k,); x broadcasts to (n,). Of integers beta and alpha are integers.
inline Tensor addmv(const Tensor& x, const Tensor& matrix, const Tensor& vector, double beta = 1, double alpha = 1) {
  return x.addmv(matrix, vector, beta, alpha);
}
inline Tensor& addmv_(Tensor& x, const Tensor& matrix, const Tensor& vector, double beta = 1, double alpha = 1) {
  return x.addmv_(matrix, vector, beta, alpha);
}
/// beta x + alpha times the outer product of a (n,) and b (m,); x broadcasts to (n, m).
inline Tensor addr(const Tensor& x, const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) {
  return x.addr(a, b, beta, alpha);
}
/// beta x + alpha times the products of b pairs of matrices, (b, n, k) and (b, k, m); x broadcasts to (b, n, m).
inline Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) {
  return x.baddbmm(a, b, beta, alpha);
}
/// beta x + alpha times the sum of these products; x broadcasts to (n, m).
inline Tensor addbmm(const Tensor& x, const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1) {
  return x.addbmm(a, b, beta, alpha);
}

}  // namespace tandem
