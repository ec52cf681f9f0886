// decode_jpeg: the pixels of a JPEG file, by libjpeg. Internal.
#pragma once
#include <string>
#include <string_view>

#include "tandem/data/images/pixels.h"

namespace tandem::data::detail {

/// @throws Error naming `name`; NotImplementedError in a build without the library
Pixels decode_jpeg(std::string_view bytes, const std::string& name);

}  // namespace tandem::data::detail
