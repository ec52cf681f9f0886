// Convolutions by Tandem's own kernels on CUDA, even if cuDNN is in the build. They serve the cases that cuDNN does not
// support, and the benchmarks.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

/// Computes a pass of a convolution as kernels/convolution.h says. Returns true.
bool native_convolution(const ConvCall& call);

}  // namespace tandem::kernels::cuda
