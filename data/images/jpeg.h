// Internal: decode_jpeg decodes a JPEG file to pixels by libjpeg.
#pragma once
#include <string>
#include <string_view>

#include "tandem/data/images/pixels.h"

namespace tandem::data::detail {

/// Decodes a JPEG file. @throws Error that names `name`; NotImplementedError in a build without libjpeg
Pixels decode_jpeg(std::string_view bytes, const std::string& name);

}  // namespace tandem::data::detail
