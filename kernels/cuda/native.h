// Convolutions by Tandem's own kernels on CUDA, even if cuDNN is in the build: see kernels/convolution.h. They compute
// what cuDNN declines, and serve tests and benchmarks.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

void native_conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape, Tensor& y);
void native_conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx);
void native_conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw);

}  // namespace tandem::kernels::cuda
