// Implements the printing of modules that rearrange pixels and channels.
#include "tandem/nn/pixelshuffle.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

TANDEM_DEFINE_PRETTY_PRINT(PixelShuffle, "upscale_factor=" << options.upscale_factor())
TANDEM_DEFINE_PRETTY_PRINT(PixelUnshuffle, "downscale_factor=" << options.downscale_factor())
TANDEM_DEFINE_PRETTY_PRINT(ChannelShuffle, "groups=" << options.groups())

}  // namespace tandem::nn
