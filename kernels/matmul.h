// Matrix products of floating dtypes. Sums of half types are kept in float and rounded once.
#pragma once
#include "tandem/kernels/declare.h"

/// c[i] = a[i] b[i], plus bias in each row where it is defined: a (batch, m, k), b (batch, k, n), bias (n) contiguous,
/// c (batch, m, n) contiguous. The last two dimensions of a and b may be transposed; a batch stride of 0 repeats a
/// matrix
TANDEM_KERNEL(void matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c))
