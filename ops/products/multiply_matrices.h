// Matrix products that autograd does not record, for matmul and linear. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Checks the operands of a product of two matrices: (n, k) and (k, m).
inline void check_matrices(const char* op, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(a.dim() == 2, op, ": mat1 must be a matrix, got ", a.dim(), "-D tensor");
  TANDEM_CHECK(b.dim() == 2, op, ": mat2 must be a matrix, got ", b.dim(), "-D tensor");
  TANDEM_CHECK(a.size(1) == b.size(0), op, ": mat1 and mat2 shapes cannot be multiplied (", a.size(0), "x", a.size(1),
               " and ", b.size(0), "x", b.size(1), ")");
}

/// Computes y = a b, and adds bias to each row if it is defined.
void multiply_matrices(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& y);
/// Adds the product of integer matrices a and b to y, as a sum of k products of a column and a row; wraps on overflow.
void accumulate_outer_products(const Tensor& a, const Tensor& b, Tensor y);

}  // namespace tandem::detail
