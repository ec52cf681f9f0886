// Matrix products and linear maps.
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
/// beta bias + alpha a b; bias broadcasts to (n, m)
Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, double beta = 1, double alpha = 1);

/// y = x W^T + b; x (..., in), weight (out, in), bias (out) or undefined; of one dtype, but the bias may be float32
/// beside half types
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace tandem
