// Convolutions by cuDNN. If cuDNN does not support a case, if Tandem's own kernels are faster, or if the build is
// without cuDNN (as on the emulated device), the caller uses Tandem's own kernels.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

/// Computes a pass of a convolution as kernels/convolution.h declares it, for any floating dtype, stride, padding,
/// dilation and groups. Returns false if the caller must use Tandem's own kernels instead.
/// @throws CudaError that names the shapes if cuDNN fails
bool cudnn_convolution(const ConvCall& call);

}  // namespace tandem::kernels::cuda
