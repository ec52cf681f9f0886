// Implements GzipReader with zlib.
#include "tandem/data/gzip_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "tandem/core/internal.h"

namespace tandem::data {
namespace {

constexpr uint64_t kMaxDeflateRatio = 1032;  // maximum compression ratio of deflate

}  // namespace

detail::GzipReader::GzipReader(const char* function, const std::string& path) : function_(function), path_(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  TANDEM_CHECK(std::filesystem::exists(status), function_, ": there is no file ", path);
  TANDEM_CHECK(std::filesystem::is_regular_file(status), function_, ": ", path,
               " is not a file; accepted: a regular file");
  file_size_ = std::filesystem::file_size(path, error);
  file_.open(path, std::ios::binary);
  TANDEM_CHECK(!error && file_, function_, ": cannot open ", path, ": ", std::strerror(errno));
  refill_input_buffer();
  gzipped_ = zlib_stream_.avail_in >= 2 && input_buffer_[0] == 0x1f && input_buffer_[1] == 0x8b;
  if (gzipped_)
    TANDEM_CHECK(inflateInit2(&zlib_stream_, 16 + MAX_WBITS) == Z_OK, function_, ": cannot decompress ", path,
                 ": zlib ran out of memory");
}
detail::GzipReader::~GzipReader() {
  if (gzipped_) inflateEnd(&zlib_stream_);
}

uint64_t detail::GzipReader::max_decompressed_bytes() const {
  return gzipped_ ? file_size_ * kMaxDeflateRatio : file_size_;
}

size_t detail::GzipReader::read(uint8_t* to, size_t num_bytes) {
  size_t num_read = 0;
  while (num_read < num_bytes && !at_eof_)
    num_read += gzipped_ ? read_inflated(to + num_read, num_bytes - num_read)
                         : read_uncompressed(to + num_read, num_bytes - num_read);
  return num_read;
}
std::string detail::GzipReader::read_all() {
  // One more byte than the file has, so that the end of an uncompressed file is reached without a second read
  std::string bytes(std::max<size_t>(file_size_ * (gzipped_ ? 4 : 1), 1 << 10) + 1, '\0');
  size_t size = 0;
  while (true) {
    size += read(reinterpret_cast<uint8_t*>(bytes.data()) + size, bytes.size() - size);
    if (size < bytes.size()) break;
    bytes.resize(2 * bytes.size());
  }
  bytes.resize(size);
  check_at_end();
  return bytes;
}
void detail::GzipReader::check_at_end() {
  TANDEM_CHECK(zlib_stream_.avail_in == 0 && !refill_input_buffer(), function_, ": ", path_,
               " has bytes after the end of its gzip stream; accepted: none");
}

bool detail::GzipReader::refill_input_buffer() {
  file_.read(reinterpret_cast<char*>(input_buffer_.data()), static_cast<std::streamsize>(input_buffer_.size()));
  TANDEM_CHECK(!file_.bad(), function_, ": reading ", path_, " failed: ", std::strerror(errno));
  zlib_stream_.next_in = input_buffer_.data();
  zlib_stream_.avail_in = static_cast<uInt>(file_.gcount());
  return zlib_stream_.avail_in > 0;
}
size_t detail::GzipReader::read_uncompressed(uint8_t* to, size_t num_bytes) {
  if (zlib_stream_.avail_in == 0 && !refill_input_buffer()) {
    at_eof_ = true;
    return 0;
  }
  const size_t n = std::min<size_t>(num_bytes, zlib_stream_.avail_in);
  std::memcpy(to, zlib_stream_.next_in, n);
  zlib_stream_.next_in += n;
  zlib_stream_.avail_in -= static_cast<uInt>(n);
  return n;
}
size_t detail::GzipReader::read_inflated(uint8_t* to, size_t num_bytes) {
  const bool more = zlib_stream_.avail_in > 0 || refill_input_buffer();
  const auto out_capacity = static_cast<uInt>(std::min<size_t>(num_bytes, 1u << 30));
  zlib_stream_.next_out = to;
  zlib_stream_.avail_out = out_capacity;
  const int result = inflate(&zlib_stream_, Z_NO_FLUSH);
  if (result == Z_STREAM_END) {
    at_eof_ = !begin_gzip_member();
    return out_capacity - zlib_stream_.avail_out;
  }
  TANDEM_CHECK(result == Z_OK || (result == Z_BUF_ERROR && more), function_, ": ", path_, " is ",
               result == Z_BUF_ERROR ? "truncated: its gzip stream does not end" : "damaged: zlib says ",
               result == Z_BUF_ERROR ? "" : (zlib_stream_.msg ? zlib_stream_.msg : zError(result)));
  return out_capacity - zlib_stream_.avail_out;
}

bool detail::GzipReader::begin_gzip_member() {
  constexpr uint8_t kFirst = 0x1f;  // first byte of a gzip member
  if ((zlib_stream_.avail_in == 0 && !refill_input_buffer()) || *zlib_stream_.next_in != kFirst) return false;
  TANDEM_CHECK(inflateReset(&zlib_stream_) == Z_OK, function_,
               ": internal error: zlib cannot begin the next gzip member of ", path_, "; please report it");
  return true;
}

}  // namespace tandem::data
