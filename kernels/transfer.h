// Copies between the memories of different devices.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::kernels::cuda {

/// Computes y = x for any dtypes and strides, where x broadcasts to y. x and y are on different devices, at least one
/// of them a GPU. The copy is ordered by the current streams of these GPUs. A copy between host and GPU returns when it
/// is done, so that y can be read and x may change. With `non_blocking`, copies to a GPU return at once, and so do
/// copies into page-locked memory that need no conversion on the host (of the dtype or of the layout). In that case x
/// must not change until the copy is done if it is page-locked; any other x is first copied to page-locked memory.
void transfer(const Tensor& x, Tensor& y, bool non_blocking);

}  // namespace tandem::kernels::cuda
