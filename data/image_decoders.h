// The decoders behind read_image. Each is in its own file, the only one that includes the library's header.
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

}  // namespace tandem::data::detail
