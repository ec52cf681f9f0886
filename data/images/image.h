// Images in files: JPEG through libjpeg, PNG through libpng.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data {

/// The colours of a JPEG or PNG file (told by its content), as a uint8 tensor (3, height, width): red, green, blue.
/// Grey becomes three equal channels, transparency is left out, and of 16 bits the upper 8 are taken. As for Pillow's
/// convert("RGB"), gamma, colour profiles and the orientation in a camera's notes change nothing. A file that is cut
/// off or damaged is refused where the libraries can tell; they cannot, where a change makes another image of it.
/// @throws Error  naming the file and what is wrong with it
/// @throws NotImplementedError  naming the library that reads such files, in a build without it
Tensor read_image(const std::string& path);

namespace detail {
/// The same of a file's bytes; `name` is what errors call it.
Tensor decode_image(std::string_view bytes, const std::string& name);
}  // namespace detail

}  // namespace tandem::data
