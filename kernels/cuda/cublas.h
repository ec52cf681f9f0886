// Matrix products by cuBLASLt. Each function says whether it served the case: our own kernels take the rest, and all of
// it where cuBLASLt is not in the build, as on the emulated device.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// What a product may do to each sum, the bias included, before it writes it; gelu_tanh is GELU's approximation.
enum class Activation { none, relu, gelu_tanh };
/// As matmul in kernels/matmul.h, float32, float64, float16 and bfloat16 (both with float sums); bias and activation
/// are part of the one kernel.
/// @throws CudaError with the shapes when cuBLASLt fails
bool cublas_matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Activation activation, Tensor& c);

}  // namespace tandem::kernels::cuda
