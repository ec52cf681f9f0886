// Internal: decode_png and encode_png convert between PNG files and pixels by libpng.
#pragma once
#include <string>
#include <string_view>

#include "tandem/data/images/pixels.h"

namespace tandem::data::detail {

/// Decodes a PNG file. @throws Error that names `name`; NotImplementedError in a build without libpng
Pixels decode_png(std::string_view bytes, const std::string& name);
/// Encodes 8-bit pixels, row by row, with 1 to 4 channels (grey, or red, green and blue; a second or fourth channel is
/// opacity).
/// @throws Error that names `op`; NotImplementedError in a build without libpng
std::string encode_png(const std::string& op, const uint8_t* pixels, int64_t height, int64_t width, int64_t channels);

}  // namespace tandem::data::detail
