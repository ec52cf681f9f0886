// Matrix products: matmul, mm, bmm, mv, linalg_matmul.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Products by rank, as PyTorch's: vectors dot, matrices multiply, leading dimensions broadcast as batches. Both
/// operands are of one dtype of numbers; integers wrap.
/// @throws Error unless the last dimension of a equals the second last of b
Tensor matmul(const Tensor& a, const Tensor& b);
/// The product of two matrices, (n, k) and (k, m) -> (n, m), of one dtype. @throws Error for other sizes
Tensor mm(const Tensor& a, const Tensor& b);
/// The products of b pairs of matrices, (b, n, k) and (b, k, m) -> (b, n, m). @throws Error for other sizes
Tensor bmm(const Tensor& a, const Tensor& b);
/// A matrix (n, k) times a vector (k,) -> (n,). @throws Error for any other ranks
inline Tensor mv(const Tensor& a, const Tensor& b) { return a.mv(b); }
/// Another spelling of matmul.
Tensor linalg_matmul(const Tensor& a, const Tensor& b);

}  // namespace tandem
