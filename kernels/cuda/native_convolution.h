// Convolutions by Tandem's own CUDA kernels, for cases that cuDNN does not support or in which it is slower, for builds
// without cuDNN, and for benchmarks.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

/// Computes a pass of a convolution, as declared in kernels/convolution.h. Returns true, as cudnn_convolution does on
/// success.
bool native_convolution(const ConvCall& call);

}  // namespace tandem::kernels::cuda
