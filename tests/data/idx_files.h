// Writes IDX files for tests.
#pragma once
#include <zlib.h>

#include <string>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/tests/temporary.h"

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

/// `count` bytes that take all values
inline std::string some_bytes(size_t count) {
  std::string out(count, '\0');
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<char>(i * 37 + i / 256);
  return out;
}

/// Writes a data set as MNIST's four files. The images are arbitrary bytes, the labels repeat 0 to 9.
inline void write_digits(const std::string& folder, uint32_t train, uint32_t test) {
  for (const auto& [prefix, count] : {std::pair("train", train), std::pair("t10k", test)}) {
    std::string labels;
    for (uint32_t i = 0; i < count; ++i) labels += static_cast<char>(i % 10);
    const std::string path = folder + "/" + prefix;
    write_file(path + "-images-idx3-ubyte", idx_bytes({count, 28, 28}, some_bytes(size_t{count} * 784)));
    write_file(path + "-labels-idx1-ubyte", idx_bytes({count}, labels));
  }
}

}  // namespace tandem::test
