// Matrix products of floating dtypes. Sums of half types are kept in float and rounded once.
#pragma once
#include <span>

#include "tandem/kernels/declare.h"
#include "tandem/kernels/implementation.h"

/// Computes c[i] = a[i] b[i], and adds bias to each row of c if bias is defined. a is (batch, m, k), b (batch, k, n),
/// bias (n) contiguous, c (batch, m, n) contiguous. The last two dimensions of a and b may be transposed; a batch
/// stride of 0 repeats a matrix
TANDEM_DECLARE_KERNEL(void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c))
namespace tandem::kernels {
/// Arguments of matmul.
struct MatmulCall {
  const Tensor &a, &b, &bias;
  Tensor& c;
};
}  // namespace tandem::kernels
/// Returns the implementations that matmul chooses from, in the order in which they are tried.
TANDEM_DECLARE_KERNEL(std::span<const Implementation<bool, MatmulCall>> matmul_implementations())
