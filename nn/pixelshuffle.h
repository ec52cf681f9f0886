// Rearrangements of pixels and channels: options, functions with options, and modules. ops/nn/pixel_shuffle.h describes
// the computation.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/nn/pixel_shuffle.h"

namespace tandem::nn {

struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TANDEM_ARG(int64_t, upscale_factor);  // factor by which each side grows
};
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  TANDEM_ARG(int64_t, downscale_factor);  // factor by which each side shrinks
};
/// LibTorch has no ChannelShuffle; the name follows Python's PyTorch.
struct ChannelShuffleOptions {
  ChannelShuffleOptions(int64_t groups) : groups_(groups) {}
  TANDEM_ARG(int64_t, groups);  // number of groups of channels that are interleaved
};

namespace functional {
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;

inline Tensor pixel_shuffle(const Tensor& x, const PixelShuffleOptions& o) {
  return tandem::pixel_shuffle(x, o.upscale_factor());
}
inline Tensor pixel_unshuffle(const Tensor& x, const PixelUnshuffleOptions& o) {
  return tandem::pixel_unshuffle(x, o.downscale_factor());
}
inline Tensor channel_shuffle(const Tensor& x, int64_t groups) { return tandem::channel_shuffle(x, groups); }
}  // namespace functional

TANDEM_OPTION_MODULE(PixelShuffle, PixelShuffleOptions, , pixel_shuffle(x, options.upscale_factor()));
TANDEM_OPTION_MODULE(PixelUnshuffle, PixelUnshuffleOptions, , pixel_unshuffle(x, options.downscale_factor()));
TANDEM_OPTION_MODULE(ChannelShuffle, ChannelShuffleOptions, , channel_shuffle(x, options.groups()));

}  // namespace tandem::nn
