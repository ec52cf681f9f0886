// Copies between the memories of different devices.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// y = x, of any dtypes and strides, x broadcast to y; at least one is on a GPU, and they are on different devices. In
/// the order of the current streams of the GPUs that take part. Where y is on the host, it is done when this returns,
/// unless y is in page-locked memory and `non_blocking`; where x is on the host, it may change again when this returns,
/// with the same exception.
void transfer(const Tensor& x, Tensor& y, bool non_blocking);

}  // namespace tandem::kernels::cuda
