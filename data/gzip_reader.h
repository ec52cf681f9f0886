// GzipReader: reads the bytes of a file, and decompresses them if the file is gzipped.
#pragma once
#include <zlib.h>

#include <array>
#include <fstream>
#include <string>

#include "tandem/core/error.h"

namespace tandem::data::detail {

/// Reads a file's bytes in order. The file is plain or gzipped, with any number of gzip members; its first bytes
/// determine which.
class GzipReader {
 public:
  /// @param function  name of the calling function, for messages
  /// @throws Error  that names the file if it does not exist, is not a regular file, or cannot be opened
  GzipReader(const char* function, const std::string& path);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;

  /// Returns the maximum number of bytes that the file can hold after decompression.
  uint64_t max_decompressed_bytes() const;
  /// Reads `num_bytes` bytes, or fewer at the end of the file. Returns the number of bytes that were read.
  /// @throws Error  if the file is damaged or truncated
  size_t read(uint8_t* to, size_t num_bytes);
  /// Reads all remaining bytes of the file.
  std::string read_all();
  /// Checks that nothing follows the end of the gzip stream, after read() has returned fewer bytes than requested. zlib
  /// has verified the checksum when it reached the end.
  void check_at_end();

 private:
  bool refill_input_buffer();
  size_t read_uncompressed(uint8_t* to, size_t num_bytes);
  size_t read_inflated(uint8_t* to, size_t num_bytes);
  bool begin_gzip_member();

  const char* function_;
  std::string path_;
  uint64_t file_size_ = 0;
  std::ifstream file_;
  std::array<uint8_t, 1 << 16> input_buffer_;
  z_stream zlib_stream_{};
  bool gzipped_ = false, at_eof_ = false;
};

}  // namespace tandem::data::detail
