// Matrix products by cuBLASLt. Each function says whether it served the case: our own kernels take the rest, and all of
// it where cuBLASLt is not in the build, as on the emulated device.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// As matmul in kernels/matmul.h, float32, float64, float16 and bfloat16 (both with float sums).
/// @throws CudaError with the shapes when cuBLASLt fails
bool cublas_matmul(const Tensor& a, const Tensor& b, bool accumulate, Tensor& c);

/// What a product may do to each sum before it writes it; gelu_tanh is GELU's approximation with tanh.
enum class Activation { none, relu, gelu_tanh };
/// y = activation(x w^T + bias) in one kernel: x (rows, in), w (out, in), bias (out) or undefined, y (rows, out), all
/// contiguous and of one dtype.
bool cublas_linear(const Tensor& x, const Tensor& w, const Tensor& bias, Activation activation, Tensor& y);

}  // namespace tandem::kernels::cuda
