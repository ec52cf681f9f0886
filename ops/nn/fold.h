// Windows of a convolution as columns, and the transposed operation: im2col and col2im.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// im2col returns the L windows of a convolution, in row-major order, as columns: x (N, C, H, W) or (C, H, W) -> (N, C
/// * KH * KW, L). col2im is the transposed operation: it sums overlapping windows into an image of output_size (H, W).
Tensor im2col(const Tensor& x, detail::Pair kernel_size, detail::Pair dilation, detail::Pair padding,
              detail::Pair stride);
Tensor col2im(const Tensor& x, detail::Pair output_size, detail::Pair kernel_size, detail::Pair dilation,
              detail::Pair padding, detail::Pair stride);

}  // namespace tandem
