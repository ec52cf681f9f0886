// Copies between the memories of different devices.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// y = x, of any dtypes and strides, x broadcast to y; at least one is on a GPU, and they are on different devices. In
/// the order of the current streams of the GPUs that take part. Between host and GPU this waits for the copy, so that y
/// can be read and x may change when it returns. With `non_blocking` it does not wait for copies into page-locked
/// memory, nor for those to a GPU: then page-locked x must stay as it is until they are done, while the bytes of any
/// other x are taken to page-locked memory first.
void transfer(const Tensor& x, Tensor& y, bool non_blocking);

}  // namespace tandem::kernels::cuda
