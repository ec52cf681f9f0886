// Convolutions of floating dtypes. Sums of half types are kept in float and rounded once.
#pragma once
#include <span>

#include "tandem/kernels/declare.h"
#include "tandem/kernels/implementation.h"

namespace tandem::kernels {

enum class ConvPass : int64_t { forward, backward_input, backward_weight };
/// The operation's name in messages and traces.
inline const char* name_of(ConvPass pass) {
  constexpr const char* kNames[] = {"conv2d", "conv2d_backward_input", "conv2d_backward_weight"};
  return kNames[static_cast<size_t>(pass)];
}

/// Of a 2-d convolution, by (height, width), and whether the tensors are channels-last.
struct ConvShape {
  int64_t stride[2], padding[2], dilation[2], groups;
  bool channels_last = false;
  auto operator<=>(const ConvShape& other) const = default;
};
/// One pass of a convolution. It reads two of x, w and y, and writes the third. `bias` is for forward.
struct ConvCall {
  ConvPass pass;
  const Tensor &x, &w, &bias, &y;
  const ConvShape& shape;
};

}  // namespace tandem::kernels

/// x (N, C, H, W), w (O, C / groups, KH, KW), y (N, O, OH, OW), all contiguous or, as the shape says, channels-last;
/// bias (O) may be undefined
TANDEM_KERNEL(void conv2d(const Tensor& x, const Tensor& w, const Tensor& bias, const ConvShape& shape, Tensor& y))
TANDEM_KERNEL(void conv2d_backward_input(const Tensor& dy, const Tensor& w, const ConvShape& shape, Tensor& dx))
TANDEM_KERNEL(void conv2d_backward_weight(const Tensor& dy, const Tensor& x, const ConvShape& shape, Tensor& dw))
/// conv2d_backward_weight, and in the same pass db (O), the sums of dy over images and pixels; all channels-last
TANDEM_CPU_KERNEL(conv2d_backward_weight_and_bias, const Tensor& dy, const Tensor& x, const ConvShape& shape,
                  Tensor& dw, Tensor& db)
namespace tandem::kernels::cuda {
/// The implementations that a convolution chooses from, in order.
std::span<const Implementation<bool, ConvCall>> conv_implementations();
}  // namespace tandem::kernels::cuda
namespace tandem::kernels {
/// Whether conv2d_backward_weight_and_bias serves these.
inline bool has_conv2d_backward_weight_and_bias(const Tensor& dy, const ConvShape& shape) {
  return dy.is_cpu() && dy.dtype() == kFloat32 && shape.channels_last;
}
}  // namespace tandem::kernels
