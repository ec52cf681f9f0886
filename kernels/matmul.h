// Matrix products of floating dtypes. Sums of half types are kept in float and rounded once.
#pragma once
#include <span>

#include "tandem/kernels/declare.h"
#include "tandem/kernels/implementation.h"

/// c[i] = a[i] b[i], plus bias in each row where it is defined: a (batch, m, k), b (batch, k, n), bias (n) contiguous,
/// c (batch, m, n) contiguous. The last two dimensions of a and b may be transposed; a batch stride of 0 repeats a
/// matrix
TANDEM_KERNEL(void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c))
namespace tandem::kernels {
/// The arguments of matmul.
struct MatmulCall {
  const Tensor &a, &b, &bias;
  Tensor& c;
};
}  // namespace tandem::kernels
/// The implementations that matmul chooses from, in order.
TANDEM_KERNEL(std::span<const Implementation<bool, MatmulCall>> matmul_implementations())
