// Rearranging pixels and channels: pixel_shuffle, pixel_unshuffle, channel_shuffle.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// pixel_shuffle rearranges (..., C * r * r, H, W) to (..., C, H * r, W * r): r^2 channels become squares of pixels
/// (Shi et al. 2016). pixel_unshuffle is the inverse.
/// @throws Error unless r^2 divides the channels, or, for pixel_unshuffle, r divides height and width
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
/// Interleaves the channels of x (N, C, ...): takes one channel from each of `groups` groups in turn. @throws Error
/// unless groups divides C
Tensor channel_shuffle(const Tensor& x, int64_t groups);
inline Tensor native_channel_shuffle(const Tensor& x, int64_t groups) { return channel_shuffle(x, groups); }

}  // namespace tandem
