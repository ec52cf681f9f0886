// 2-d convolutions of floating dtypes. Sums of half types are kept in float and rounded once.
#pragma once
#include <span>

#include "tandem/kernels/declare.h"
#include "tandem/kernels/implementation.h"

namespace tandem::kernels {

enum class ConvPass : int64_t { forward, backward_input, backward_weight };
/// Returns the name of the operation that computes this pass, for messages and traces.
inline const char* pass_name(ConvPass pass) {
  constexpr const char* kNames[] = {"conv2d", "conv2d_backward_input", "conv2d_backward_weight"};
  return kNames[static_cast<size_t>(pass)];
}

/// Parameters of a 2-d convolution. Arrays are (height, width). channels_last: whether all tensors are channels-last.
struct ConvShape {
  int64_t stride[2], padding[2], dilation[2], groups;
  bool channels_last = false;
  auto operator<=>(const ConvShape& other) const = default;
};
/// Arguments of one pass of a convolution. The pass reads two of x, w and y, and writes the third. In the backward
/// passes, y is dy, and x or w is the output dx or dw. `bias` is used in forward only.
struct ConvCall {
  ConvPass pass;
  const Tensor &x, &w, &bias, &y;
  const ConvShape& shape;
};

}  // namespace tandem::kernels

/// Computes a 2-d convolution of x (N, C, H, W) with w (O, C / groups, KH, KW) into y (N, O, OH, OW). All are
/// contiguous, or all channels-last if shape.channels_last. bias (O) may be undefined
TANDEM_DECLARE_KERNEL(void conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape,
                                  Tensor& y))
TANDEM_DECLARE_KERNEL(void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx))
TANDEM_DECLARE_KERNEL(void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape,
                                                  Tensor& dw))
/// Computes conv2d_backward_weight and, in the same pass, db (O): the sums of dy over images and pixels. All tensors
/// are channels-last
TANDEM_DECLARE_CPU_KERNEL(conv2d_backward_weight_and_bias, const Tensor& dy, const Tensor& x, const ConvShape& shape,
                          Tensor& dw, Tensor& db)
namespace tandem::kernels::cuda {
/// Returns the implementations that a convolution chooses from, in the order in which they are tried.
std::span<const Implementation<bool, ConvCall>> conv_implementations();
}  // namespace tandem::kernels::cuda
namespace tandem::kernels {
/// Returns whether conv2d_backward_weight_and_bias supports these tensors.
inline bool has_conv2d_backward_weight_and_bias(const Tensor& dy, const ConvShape& shape) {
  return dy.is_cpu() && dy.dtype() == kFloat32 && shape.channels_last;
}
}  // namespace tandem::kernels
