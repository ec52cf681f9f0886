// Pixels and channels in another order: pixel_shuffle, pixel_unshuffle, channel_shuffle.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (..., C r r, H, W) -> (..., C, H r, W r) and back: r^2 channels become squares of pixels (Shi et al. 2016).
/// @throws Error unless r^2 divides the channels, or r the height and the width
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
/// Channels of x (N, C, ...) of `groups` groups dealt out in turn. @throws Error unless groups divides C
Tensor channel_shuffle(const Tensor& x, int64_t groups);
inline Tensor native_channel_shuffle(const Tensor& x, int64_t groups) { return channel_shuffle(x, groups); }

}  // namespace tandem
