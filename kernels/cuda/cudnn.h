// Convolutions by cuDNN, which is tried first. Tandem's own kernels compute the calls that it declines: all of them if
// cuDNN is not in the build, as on the emulated device.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

/// Computes a pass as kernels/convolution.h says: any floating dtype, stride, padding, dilation and groups. Returns
/// whether cuDNN served it.
/// @throws CudaError with the shapes when cuDNN fails
bool cudnn_convolution(const ConvCall& call);

}  // namespace tandem::kernels::cuda
