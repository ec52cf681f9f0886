// Products that are made of others: with a sum, of vectors, of many tensors; and distances. Operands of a matrix
// product are of one dtype of numbers, as in ops/products/matmul.h.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

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
/// A matrix (n, k) times a vector (k,) -> (n,). @throws Error for any other ranks
inline Tensor mv(const Tensor& a, const Tensor& b) { return a.mv(b); }
/// The sum of the products of two vectors of one length. vdot is another name of it.
inline Tensor dot(const Tensor& a, const Tensor& b) { return a.dot(b); }
inline Tensor vdot(const Tensor& a, const Tensor& b) { return a.dot(b); }
/// (n, m): the products of each element of a (n,) and each of b (m,).
inline Tensor outer(const Tensor& a, const Tensor& b) { return a.outer(b); }
/// Another spelling of outer.
inline Tensor ger(const Tensor& a, const Tensor& b) { return a.outer(b); }
/// Sums of products along the last dimensions of both; with a scalar the product.
inline Tensor inner(const Tensor& a, const Tensor& b) { return a.inner(b); }
/// a with each element replaced by its product with b (Kronecker's product).
inline Tensor kron(const Tensor& a, const Tensor& b) { return a.kron(b); }
/// The cross product along dim, of size 3; without it along the first dimension of that size. Operands broadcast.
inline Tensor cross(const Tensor& a, const Tensor& b, std::optional<int64_t> dim = {}) { return a.cross(b, dim); }
/// The sum of products along pairs of dimensions, the k-th of dims_a with the k-th of dims_b: the other dimensions of
/// a, then those of b. A size of 1 broadcasts.
Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b);
/// Sums of products in Einstein's notation: "bij,bjk->bik". A letter names a dimension; one that the right side leaves
/// out is summed over; repeated in one operand it means the diagonal; "..." are further dimensions, which broadcast.
/// Without "->" the result has the letters that occur once, in order of the alphabet.
/// Operands are multiplied from left to right.
Tensor einsum(const std::string& equation, TensorList operands);
/// The product of matrices in the order that takes the fewest multiplications. linalg_multi_dot: of two or more, of
/// which the first and the last may be vectors.
Tensor chain_matmul(TensorList matrices);
Tensor linalg_multi_dot(TensorList tensors);

// ---- distances
/// The p-norm of a - b. Precision of this and the other distances: see norm.
inline Tensor dist(const Tensor& a, const Tensor& b, double p = 2) { return a.dist(b, p); }
/// (..., n, m): the p-norms of the differences of each row of a (..., n, k) and each of b (..., m, k).
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);
/// Of all pairs of rows of a matrix, in the order of the triangle above the diagonal.
Tensor pdist(const Tensor& x, double p = 2);
/// The p-norms of a - b + eps along the last dimension.
Tensor pairwise_distance(const Tensor& a, const Tensor& b, double p = 2, double eps = 1e-6,
                         detail::Flag keepdim = false);
/// a b / (max(|a|, eps) max(|b|, eps)), summed along dim. Operands broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t dim = 1, double eps = 1e-8);

}  // namespace tandem
