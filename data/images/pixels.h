// Pixels: the result of decoding a JPEG or PNG file. It has its own header, so that only jpeg.cpp includes libjpeg's
// header, and only png.cpp includes libpng's header.
#pragma once
#include <cstdint>
#include <vector>

namespace tandem::data::detail {

// Note [Errors by longjmp]: libjpeg and libpng report an error by a callback that must not return. Tandem's callback
// keeps the message and jumps back to a setjmp. A jump runs no destructors, so the functions that call setjmp hold
// plain values only. Objects that own memory, including the decoder's state, belong to the caller of these functions,
// which throws the Error.

/// A decoded image: red, green and blue of each pixel, row by row.
struct Pixels {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> values;  // height * width * 3
};

}  // namespace tandem::data::detail
