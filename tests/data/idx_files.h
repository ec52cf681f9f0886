// IDX files made by the tests.
#pragma once
#include <zlib.h>

#include <string>
#include <vector>

#include "tandem/core/error.h"

namespace tandem::test {

inline std::string idx_bytes(const std::vector<uint32_t>& sizes, const std::string& content, int type = 8) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const uint32_t s : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(s >> shift);
  return out + content;
}

inline std::string gzip(const std::string& bytes) {
  z_stream stream{};
  TANDEM_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  TANDEM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// `count` bytes, all values among them.
inline std::string some_bytes(size_t count) {
  std::string out(count, '\0');
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<char>(i * 37 + i / 256);
  return out;
}

}  // namespace tandem::test
