// What is behind read_image and save_image. Each library is in its own file, the only one that includes its header.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::data::detail {

// Note [Errors by longjmp]: libjpeg and libpng report an error by a callback that must not return. Ours keeps the text
// and jumps back to a setjmp, and a jump runs no destructors. So the functions that call setjmp hold plain values only;
// what owns memory, the decoder's state too, belongs to the function that called them, which throws the Error.

/// Red, green and blue of each pixel, row by row.
struct Pixels {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> values;  // height * width * 3
};

/// @throws Error naming `name`; NotImplementedError in a build without the library
Pixels decode_jpeg(std::string_view bytes, const std::string& name);
Pixels decode_png(std::string_view bytes, const std::string& name);
/// A PNG file of 8-bit pixels, row by row, with 1 to 4 channels (grey, red-green-blue; the second or fourth: opacity).
/// @throws Error naming `op`; NotImplementedError in a build without the library
std::string encode_png(const std::string& op, const uint8_t* pixels, int64_t height, int64_t width, int64_t channels);

}  // namespace tandem::data::detail
