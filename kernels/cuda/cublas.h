// Matrix products by cuBLASLt. The function says whether it served the case: our own kernels take the rest, and all of
// it where cuBLASLt is not in the build, as on the emulated device.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// As matmul in kernels/matmul.h; the bias is added by the same kernel.
/// @throws CudaError with the shapes when cuBLASLt fails
bool cublas_matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c);

}  // namespace tandem::kernels::cuda
