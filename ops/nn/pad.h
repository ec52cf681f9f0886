// Padding: pad, constant_pad_nd, reflection_pad1d to reflection_pad3d, replication_pad1d to replication_pad3d. Pads are
// pairs (before, after), beginning with the last dimension: {left, right, top, bottom, front, back}. A negative pad
// cuts elements off.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Modes of padding: values that padding adds, or that a convolution or grid_sample reads outside an image. LibTorch's
/// names are kZeros, kConstant, ... (nn/padding.h). Each function says which modes it accepts.
enum class PaddingMode { zeros, constant, reflect, replicate, circular, border, reflection };

/// Pads x, of any dtype, with `value` in as many of the last dimensions as there are pairs (before, after).
/// @throws Error for an odd number of pads, for more pads than x has dimensions, or if a size becomes negative
Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value = 0);
/// Pads x in one of four modes. "constant" pads any dimensions with `value` (default 0). The other modes pad the last
/// one, two or three dimensions, which must follow the channels, with or without a batch: "reflect" mirrors the
/// elements at the edge without repeating the edge, "replicate" repeats the edge, and "circular" continues with the
/// elements of the opposite end.
/// @throws Error if a pad needs more elements than there are, or if `value` is not 0 and the mode is not "constant"
Tensor pad(const Tensor& x, IntArrayRef pad, const std::string& mode = "constant", std::optional<double> value = {});
Tensor pad(const Tensor& x, IntArrayRef pad, PaddingMode mode, double value = 0);
/// pad in mode "reflect" or "replicate" for x (N, C, L), (N, C, H, W) or (N, C, D, H, W), or without N, with 2, 4 or 6
/// pads.
Tensor reflection_pad1d(const Tensor& x, IntArrayRef padding);
Tensor reflection_pad2d(const Tensor& x, IntArrayRef padding);
Tensor reflection_pad3d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad1d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad2d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad3d(const Tensor& x, IntArrayRef padding);

namespace detail {
/// Returns the mode's name in Python.
const char* mode_name(PaddingMode mode);
}  // namespace detail

}  // namespace tandem
