// Reads image files: JPEG by libjpeg, PNG by libpng.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data {

/// Reads a JPEG or PNG file as a uint8 tensor (3, height, width) of red, green and blue. The file's content determines
/// the format, not its name. Grey images get three equal channels, transparency is ignored, and 16-bit values keep
/// their upper 8 bits. As in Pillow's convert("RGB"), gamma, colour profiles and the EXIF orientation are ignored. A
/// truncated or damaged file is an error if the libraries detect it; they cannot if the damage results in another valid
/// image.
/// @throws Error  that names the file and what is wrong with it
/// @throws NotImplementedError  that names the missing library, in a build without it
Tensor read_image(const std::string& path);

namespace detail {
/// Decodes the bytes of an image file as read_image does. Error messages call the file `name`.
Tensor decode_image(std::string_view bytes, const std::string& name);
}  // namespace detail

}  // namespace tandem::data
