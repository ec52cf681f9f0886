// Convolutions by cuDNN. Each function says whether it served the case: our own kernels take the rest, and all of it
// where cuDNN is not in the build, as on the emulated device.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

/// As their namesakes in kernels/convolution.h: any floating dtype, stride, padding, dilation and groups.
/// @throws CudaError with the shapes when cuDNN fails
bool cudnn_conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape, Tensor& y);
bool cudnn_conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx);
bool cudnn_conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw);

}  // namespace tandem::kernels::cuda
