// Padding: pad, constant_pad_nd, reflection_pad1d to 3d, replication_pad1d to 3d. Pads come in pairs (before, after),
// those of the last dimension first: {left, right, top, bottom, front, back}. A negative one cuts elements off.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// How a convolution or a grid is continued beyond the edge, and what padding consists of. LibTorch's names are
/// kZeros, kConstant, ... (nn/padding.h); each function says which of them it takes.
enum class PaddingMode { zeros, constant, reflect, replicate, circular, border, reflection };

/// x of any dtype with `value` around it; pads of as many dimensions as are given, of (before, after) each.
/// @throws Error for an odd number of pads, more than x has dimensions for, or sizes below 0
Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value = 0);
/// Padding in the mode "constant", with `value` (0), or of the last one, two or three dimensions, before which are the
/// channels, and a batch or none: "reflect", the elements mirrored at the edge, which is not repeated, "replicate", the
/// edge repeated, "circular", the elements of the other end.
/// @throws Error for a pad that reaches further than the mode has elements, and a `value` that is not meant
Tensor pad(const Tensor& x, IntArrayRef pad, const std::string& mode = "constant", std::optional<double> value = {});
Tensor pad(const Tensor& x, IntArrayRef pad, PaddingMode mode, double value = 0);
/// As pad. x (N, C, L), (N, C, H, W), (N, C, D, H, W), or without N; pads of 2, 4, 6 numbers.
Tensor reflection_pad1d(const Tensor& x, IntArrayRef padding);
Tensor reflection_pad2d(const Tensor& x, IntArrayRef padding);
Tensor reflection_pad3d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad1d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad2d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad3d(const Tensor& x, IntArrayRef padding);

}  // namespace tandem
