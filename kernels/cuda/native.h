// Tandem's own kernels for matrix products and convolutions (declared in kernels/matmul.h and kernels/convolution.h),
// independent of the libraries in the build. They serve the cases that cuBLASLt and cuDNN do not, and the tests.
#pragma once
#include "tandem/kernels/convolution.h"

namespace tandem::kernels::cuda {

void native_matmul(const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& c);
void native_conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape, Tensor& y);
void native_conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx);
void native_conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw);

}  // namespace tandem::kernels::cuda
