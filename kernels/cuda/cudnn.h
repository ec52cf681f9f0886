// Convolutions by cuDNN. Where cuDNN does not support a case, or the build is without cuDNN (as on the emulated
// device), the caller uses Tandem's own kernels.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

/// Compute the functions of kernels/convolution.h, for any floating dtype, stride, padding, dilation and groups. Return
/// false if cuDNN does not support the case.
/// @throws CudaError that names the shapes if cuDNN fails
bool cudnn_conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape, Tensor& y);
bool cudnn_conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx);
bool cudnn_conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw);

}  // namespace tandem::kernels::cuda
