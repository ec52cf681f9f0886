// Implements the printing of modules that rearrange pixels and channels.
#include "tandem/nn/pixelshuffle.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

TANDEM_MODULE_TEXT(PixelShuffle, "upscale_factor=" << options.upscale_factor())
TANDEM_MODULE_TEXT(PixelUnshuffle, "downscale_factor=" << options.downscale_factor())
TANDEM_MODULE_TEXT(ChannelShuffle, "groups=" << options.groups())

}  // namespace tandem::nn
