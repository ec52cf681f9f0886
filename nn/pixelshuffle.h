// Pixels and channels in another order: options, functions with options, modules. What they compute says
// ops/nn/pixel_shuffle.h.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/nn/pixel_shuffle.h"

namespace tandem::nn {

struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TANDEM_ARG(int64_t, upscale_factor);  // how much larger each side becomes
};
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  TANDEM_ARG(int64_t, downscale_factor);  // how much smaller each side becomes
};
/// LibTorch has no ChannelShuffle; the name is that of Python's PyTorch.
struct ChannelShuffleOptions {
  ChannelShuffleOptions(int64_t groups) : groups_(groups) {}
  TANDEM_ARG(int64_t, groups);  // how many groups of channels are interleaved
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
