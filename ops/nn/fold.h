// The windows of a convolution as columns, and back: im2col and col2im.
#pragma once
#include "tandem/ops/nn/expanding_array.h"

namespace tandem {

/// The windows of a convolution as columns: x (N, C, H, W) or (C, H, W) -> (N, C KH KW, L), L windows in row-major
/// order. col2im is its transpose: what overlaps is added up. output_size: (H, W).
Tensor im2col(const Tensor& x, detail::Pair kernel_size, detail::Pair dilation, detail::Pair padding,
              detail::Pair stride);
Tensor col2im(const Tensor& x, detail::Pair output_size, detail::Pair kernel_size, detail::Pair dilation,
              detail::Pair padding, detail::Pair stride);

}  // namespace tandem
