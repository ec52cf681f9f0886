// Convolutions: conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d, conv_tbc, convolution.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// 2-d cross-correlation. x (N, C, H, W), weight (O, C / groups, KH, KW), bias (O) or undefined -> (N, O, OH, OW) with
/// OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1. The result, like the gradients, is channels-last if x or
/// weight suggests that (Tensor::suggest_memory_format), and what does not lie so is copied; else it is row-major.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Pair stride = 1,
              detail::Pair padding = 0, detail::Pair dilation = 1, int64_t groups = 1);
/// The transposed convolution: conv2d's gradient by its input. x (N, C, H, W) or (C, H, W), weight (C, O / groups, KH,
/// KW), bias (O) or undefined -> (N, O, OH, OW) with OH = (H - 1) stride - 2 padding + dilation (KH - 1) +
/// output_padding + 1. Layout as conv2d's.
/// @throws Error unless output_padding is less than stride or dilation
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Pair stride = 1,
                        detail::Pair padding = 0, detail::Pair output_padding = 0, int64_t groups = 1,
                        detail::Pair dilation = 1);
/// As conv2d, in one dimension: x (N, C, L) or (C, L), weight (O, C / groups, K) -> (N, O, OL).
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1, int64_t padding = 0,
              int64_t dilation = 1, int64_t groups = 1);
/// As conv_transpose2d, in one dimension: x (N, C, L) or (C, L), weight (C, O / groups, K) -> (N, O, OL).
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, int64_t stride = 1,
                        int64_t padding = 0, int64_t output_padding = 0, int64_t groups = 1, int64_t dilation = 1);
/// As conv2d, in three dimensions: x (N, C, D, H, W) or (C, D, H, W), weight (O, C / groups, KD, KH, KW) -> (N, O, OD,
/// OH, OW). Each layer of the kernel takes a copy of x. The result is row-major.
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Triple stride = 1,
              detail::Triple padding = 0, detail::Triple dilation = 1, int64_t groups = 1);
/// As conv_transpose2d, in three dimensions: x (N, C, D, H, W) or (C, D, H, W), weight (C, O / groups, KD, KH, KW).
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, detail::Triple stride = 1,
                        detail::Triple padding = 0, detail::Triple output_padding = 0, int64_t groups = 1,
                        detail::Triple dilation = 1);

/// Any of them, by the dimensions of weight, with lists of as many numbers as dimensions, or of one for all.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, IntArrayRef stride, IntArrayRef padding,
                   IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups);
/// conv1d of x (L, N, C) with weight (K, C, O) and bias (O), `pad` on both ends -> (OL, N, O).
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad = 0);

}  // namespace tandem
