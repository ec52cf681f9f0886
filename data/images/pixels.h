// Pixels: the result of the decoders of JPEG and PNG files. Only jpeg.cpp includes libjpeg's header, and only png.cpp
// includes libpng's.
#pragma once
#include <cstdint>
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

}  // namespace tandem::data::detail
