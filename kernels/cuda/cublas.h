// Matrix products by cuBLASLt. If cuBLASLt does not support a case, or the build is without cuBLASLt (as on the
// emulated device), the caller uses Tandem's own kernels.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// Computes matmul (kernels/matmul.h) in one kernel, which also adds the bias. If cuBLASLt does not support the case,
/// does nothing and returns false.
/// @throws CudaError that names the shapes if cuBLASLt fails
bool cublas_matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c);

}  // namespace tandem::kernels::cuda
