// Convolutions: conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, conv_tbc, convolution.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// 2-d cross-correlation. x (N, C, H, W) or (C, H, W), weight (O, C / groups, KH, KW), bias (O) or undefined -> (N, O,
/// OH, OW) with OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1. If x or weight is channels-last
/// (Tensor::suggest_memory_format), so are the result and the gradients, and operands in another layout are copied;
/// otherwise they are contiguous.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Pair stride = 1,
              detail::Pair padding = 0, detail::Pair dilation = 1, int64_t groups = 1);
/// Transposed convolution: the gradient of conv2d with respect to the input. x (N, C, H, W) or (C, H, W), weight (C, O
/// / groups, KH, KW), bias (O) or undefined -> (N, O, OH, OW) with OH = (H - 1) stride - 2 padding + dilation (KH - 1)
/// + output_padding + 1. The layout is as in conv2d.
/// @throws Error unless output_padding is less than stride or dilation
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Pair stride = 1,
                        detail::Pair padding = 0, detail::Pair output_padding = 0, int64_t groups = 1,
                        detail::Pair dilation = 1);
/// conv2d in one dimension: x (N, C, L) or (C, L), weight (O, C / groups, K) -> (N, O, OL).
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Single stride = 1,
              detail::Single padding = 0, detail::Single dilation = 1, int64_t groups = 1);
/// conv_transpose2d in one dimension: x (N, C, L) or (C, L), weight (C, O / groups, K) -> (N, O, OL).
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Single stride = 1,
                        detail::Single padding = 0, detail::Single output_padding = 0, int64_t groups = 1,
                        detail::Single dilation = 1);
/// conv2d in three dimensions: x (N, C, D, H, W) or (C, D, H, W), weight (O, C / groups, KD, KH, KW) -> (N, O, OD, OH,
/// OW). Takes memory for KD copies of x. The result is contiguous.
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Triple stride = 1,
              detail::Triple padding = 0, detail::Triple dilation = 1, int64_t groups = 1);
/// conv_transpose2d in three dimensions: x (N, C, D, H, W) or (C, D, H, W), weight (C, O / groups, KD, KH, KW).
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Triple stride = 1,
                        detail::Triple padding = 0, detail::Triple output_padding = 0, int64_t groups = 1,
                        detail::Triple dilation = 1);

namespace detail {
/// Computes the convolution `op` with padding "valid" (none) or "same": x is padded so that the result has its sizes.
/// If the number of padding elements is odd, the end gets one more. @throws Error for any other string, and for "same"
/// with a stride other than 1
Tensor convolve_with_padding_mode(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                  IntArrayRef stride, std::string_view padding, IntArrayRef dilation, int64_t groups);
// A padding that is a string. A template, because the literal 0 converts to a string too.
template <class Text>
concept NamedPadding = std::convertible_to<const Text&, std::string_view> && !std::integral<Text>;
}  // namespace detail

/// The convolutions with padding "valid" or "same" (detail::convolve_with_padding_mode).
template <detail::NamedPadding Text>
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, detail::Single stride, const Text& padding,
              detail::Single dilation = 1, int64_t groups = 1) {
  return detail::convolve_with_padding_mode("conv1d", x, weight, bias, stride, padding, dilation, groups);
}
template <detail::NamedPadding Text>
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, detail::Pair stride, const Text& padding,
              detail::Pair dilation = 1, int64_t groups = 1) {
  return detail::convolve_with_padding_mode("conv2d", x, weight, bias, stride, padding, dilation, groups);
}
template <detail::NamedPadding Text>
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, detail::Triple stride, const Text& padding,
              detail::Triple dilation = 1, int64_t groups = 1) {
  return detail::convolve_with_padding_mode("conv3d", x, weight, bias, stride, padding, dilation, groups);
}

/// Calls the convolution that weight's number of dimensions and `transposed` select. Each list has one number for each
/// spatial dimension, or one number for all.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);
/// conv1d in another layout: x (L, N, C), weight (K, C, O), bias (O), with padding `pad` at both ends -> (OL, N, O).
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad = 0);

}  // namespace tandem
