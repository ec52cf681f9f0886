// Matrix products and convolutions, float32 and float64. One signature list for both backends.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::kernels {
/// Of a 2-d convolution, by (height, width).
struct ConvShape {
  int64_t stride[2], padding[2], dilation[2], groups;
};
}  // namespace tandem::kernels

#define TANDEM_MATMUL_KERNELS                                                                                        \
  /* c[i] = a[i] b[i] (+ c[i] if accumulate): a (batch, m, k), b (batch, k, n), c (batch, m, n) contiguous. The last \
     two dimensions of a and b may be transposed; a batch stride of 0 repeats a matrix */                            \
  void matmul(const Tensor& a, const Tensor& b, bool accumulate, Tensor& c);                                         \
  /* x (N, C, H, W), w (O, C / groups, KH, KW), y (N, O, OH, OW), all contiguous */                                  \
  void conv2d(const Tensor& x, const Tensor& w, const ConvShape& shape, Tensor& y);                                  \
  void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx);                 \
  void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw);

namespace tandem::kernels::cpu {
TANDEM_MATMUL_KERNELS
}
namespace tandem::kernels::cuda {
TANDEM_MATMUL_KERNELS
}
