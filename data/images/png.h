// decode_png and encode_png: from PNG files to pixels and back, by libpng. Internal.
#pragma once
#include <string>
#include <string_view>

#include "tandem/data/images/pixels.h"

namespace tandem::data::detail {

/// @throws Error naming `name`; NotImplementedError in a build without the library
Pixels decode_png(std::string_view bytes, const std::string& name);
/// A PNG file of 8-bit pixels, row by row, with 1 to 4 channels (grey, red-green-blue; the second or fourth: opacity).
/// @throws Error naming `op`; NotImplementedError in a build without the library
std::string encode_png(const std::string& op, const uint8_t* pixels, int64_t height, int64_t width, int64_t channels);

}  // namespace tandem::data::detail
