// Matrix products: matmul, mm, bmm, mv, linalg_matmul.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Multiplies by PyTorch's rules: two vectors give the scalar product, matrices are multiplied, and leading dimensions
/// broadcast as batch dimensions. a and b must have one dtype other than bool. Integers wrap on overflow.
/// @throws Error unless the last dimension of a equals the second last dimension of b, or the only dimension of a
/// vector b
Tensor matmul(const Tensor& a, const Tensor& b);
/// Returns the product of two matrices: (n, k) and (k, m) -> (n, m). @throws Error for other sizes, or different dtypes
Tensor mm(const Tensor& a, const Tensor& b);
/// Returns the products of b pairs of matrices: (b, n, k) and (b, k, m) -> (b, n, m). @throws Error for other sizes
Tensor bmm(const Tensor& a, const Tensor& b);
/// mm and bmm whose result has another dtype: float32 for half types. Sums are not rounded to the half type.
/// @throws Error for an out_dtype other than the operands' and float32
Tensor mm(const Tensor& a, const Tensor& b, DType out_dtype);
Tensor bmm(const Tensor& a, const Tensor& b, DType out_dtype);
/// Returns the product of a matrix (n, k) and a vector (k,) -> (n,). @throws Error for other numbers of dimensions
inline Tensor mv(const Tensor& a, const Tensor& b) { return a.mv(b); }
/// Alias of matmul.
Tensor linalg_matmul(const Tensor& a, const Tensor& b);

namespace detail {
/// @throws Error unless a result of the product `op` of a tensor like `a` may have out_dtype
void check_out_dtype(const char* op, const Tensor& a, DType out_dtype);
}  // namespace detail

}  // namespace tandem
