// Implements read_idx, which reads an IDX file (plain or gzipped) into a tensor, and find_idx, which finds a file under
// one of several names.
#include "tandem/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/core/internal.h"

namespace tandem::data {
namespace {

constexpr uint64_t kMaxDeflateRatio = 1032;  // maximum compression ratio of deflate

/// Reads a file's bytes in order, and decompresses them if the file is gzipped.
class GzipReader {
 public:
  explicit GzipReader(const std::string& path) : path_(path) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    TANDEM_CHECK(std::filesystem::exists(status), "read_idx: there is no file ", path);
    TANDEM_CHECK(std::filesystem::is_regular_file(status), "read_idx: ", path,
                 " is not a file; accepted: a regular file");
    file_size_ = std::filesystem::file_size(path, error);
    file_.open(path, std::ios::binary);
    TANDEM_CHECK(!error && file_, "read_idx: cannot open ", path, ": ", std::strerror(errno));
    refill_input_buffer();
    gzipped_ = zlib_stream_.avail_in >= 2 && input_buffer_[0] == 0x1f && input_buffer_[1] == 0x8b;
    if (gzipped_)
      TANDEM_CHECK(inflateInit2(&zlib_stream_, 16 + MAX_WBITS) == Z_OK, "read_idx: cannot decompress ", path,
                   ": zlib ran out of memory");
  }
  ~GzipReader() {
    if (gzipped_) inflateEnd(&zlib_stream_);
  }
  GzipReader(const GzipReader&) = delete;

  /// Returns the maximum number of bytes that the file can hold after decompression.
  uint64_t max_decompressed_bytes() const { return gzipped_ ? file_size_ * kMaxDeflateRatio : file_size_; }

  /// Reads `num_bytes` bytes, or fewer at the end of the file. Returns the number of bytes that were read.
  size_t read(uint8_t* to, size_t num_bytes) {
    size_t num_read = 0;
    while (num_read < num_bytes && !at_eof_)
      num_read += gzipped_ ? read_inflated(to + num_read, num_bytes - num_read)
                           : read_uncompressed(to + num_read, num_bytes - num_read);
    return num_read;
  }
  /// Checks that no bytes are left. If the file is gzipped, zlib has verified the checksum when it reached the end of
  /// the stream.
  void check_at_end(uint64_t bytes) {
    uint8_t extra;
    TANDEM_CHECK(read(&extra, 1) == 0, "read_idx: ", path_, " has more data than the ", bytes,
                 " bytes that its header declares; the file is damaged");
    TANDEM_CHECK(zlib_stream_.avail_in == 0 && !refill_input_buffer(), "read_idx: ", path_,
                 " has bytes after the end of its gzip stream; accepted: none");
  }

 private:
  bool refill_input_buffer() {
    file_.read(reinterpret_cast<char*>(input_buffer_.data()), static_cast<std::streamsize>(input_buffer_.size()));
    TANDEM_CHECK(!file_.bad(), "read_idx: reading ", path_, " failed: ", std::strerror(errno));
    zlib_stream_.next_in = input_buffer_.data();
    zlib_stream_.avail_in = static_cast<uInt>(file_.gcount());
    return zlib_stream_.avail_in > 0;
  }
  size_t read_uncompressed(uint8_t* to, size_t num_bytes) {
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
  size_t read_inflated(uint8_t* to, size_t num_bytes) {
    const bool more = zlib_stream_.avail_in > 0 || refill_input_buffer();
    const auto out_capacity = static_cast<uInt>(std::min<size_t>(num_bytes, 1u << 30));
    zlib_stream_.next_out = to;
    zlib_stream_.avail_out = out_capacity;
    const int result = inflate(&zlib_stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      at_eof_ = !begin_gzip_member();
      return out_capacity - zlib_stream_.avail_out;
    }
    TANDEM_CHECK(result == Z_OK || (result == Z_BUF_ERROR && more), "read_idx: ", path_, " is ",
                 result == Z_BUF_ERROR ? "truncated: its gzip stream does not end" : "damaged: zlib says ",
                 result == Z_BUF_ERROR ? "" : (zlib_stream_.msg ? zlib_stream_.msg : zError(result)));
    return out_capacity - zlib_stream_.avail_out;
  }

  /// Continues with the next gzip member, if there is one. Concatenated gzip files have several members.
  bool begin_gzip_member() {
    constexpr uint8_t kFirst = 0x1f;  // first byte of a gzip member
    if ((zlib_stream_.avail_in == 0 && !refill_input_buffer()) || *zlib_stream_.next_in != kFirst) return false;
    TANDEM_CHECK(inflateReset(&zlib_stream_) == Z_OK,
                 "read_idx: internal error: zlib cannot begin the next gzip member of ", path_, "; please report it");
    return true;
  }

  std::string path_;
  uint64_t file_size_ = 0;
  std::ifstream file_;
  std::array<uint8_t, 1 << 16> input_buffer_;
  z_stream zlib_stream_{};
  bool gzipped_ = false, at_eof_ = false;
};

}  // namespace

Tensor read_idx(const std::string& path, int rank) {
  GzipReader reader(path);
  uint8_t magic[4];
  TANDEM_CHECK(reader.read(magic, 4) == 4, "read_idx: ", path, " is truncated: it has no magic number of 4 bytes");
  TANDEM_CHECK(magic[0] == 0 && magic[1] == 0, "read_idx: ", path, " is not an IDX file: it begins with bytes ",
               int{magic[0]}, ", ", int{magic[1]}, " instead of 0, 0");
  TANDEM_CHECK(magic[2] == 8, "read_idx: ", path, " has elements of type ", int{magic[2]},
               "; accepted: 8 (unsigned bytes)");
  TANDEM_CHECK(magic[3] == rank, "read_idx: ", path, " has ", int{magic[3]}, " dimensions; accepted: ", rank,
               " (files of images have 3, files of labels 1)");

  Shape sizes;
  uint64_t bytes = 1;
  for (int d = 0; d < rank; ++d) {
    uint8_t b[4];
    TANDEM_CHECK(reader.read(b, 4) == 4, "read_idx: ", path, " is truncated: it ends within the sizes of its ", rank,
                 " dimensions");
    const uint32_t size = uint32_t{b[0]} << 24 | uint32_t{b[1]} << 16 | uint32_t{b[2]} << 8 | b[3];
    sizes.push_back(size);
    TANDEM_CHECK(!__builtin_mul_overflow(bytes, uint64_t{size}, &bytes) && bytes <= INT64_MAX, "read_idx: ", path,
                 " declares sizes ", sizes, ", more than memory can address; the file is damaged");
  }
  // This check keeps a damaged header from requesting too much memory. The 4096 extra bytes let a slightly truncated
  // file pass to the check below, whose message states the actual size.
  TANDEM_CHECK(bytes <= reader.max_decompressed_bytes() + 4096, "read_idx: ", path, " declares sizes ", sizes,
               ", which take ", bytes, " bytes; a file of this length holds at most ", reader.max_decompressed_bytes(),
               ", so it is damaged");
  Tensor out = core::empty(sizes, kUInt8, kCPU);
  const size_t num_read = reader.read(out.data<uint8_t>(), bytes);
  TANDEM_CHECK(num_read == bytes, "read_idx: ", path, " is truncated: sizes ", sizes, " need ", bytes,
               " bytes, but it has ", num_read);
  reader.check_at_end(bytes);
  return out;
}

std::string find_idx(const std::string& root, const std::string& name) {
  std::string dotted = name;  // the name with a dot, as in train-images.idx3-ubyte; some archives use it
  if (const size_t at = name.find("-idx"); at != std::string::npos) dotted[at] = '.';
  std::vector<std::string> paths;
  for (const std::string& each : {name, dotted})
    for (const char* const end : {"", ".gz"}) paths.push_back((std::filesystem::path(root) / (each + end)).string());
  std::error_code error;
  for (const std::string& path : paths)
    if (std::filesystem::exists(path, error)) return path;
  TANDEM_FAIL("find_idx: Error opening ", name.find("images") != std::string::npos ? "images" : "targets", " file at ",
              paths[0], "; neither this file nor ", paths[1], ", ", paths[2], " or ", paths[3], " exists");
}

}  // namespace tandem::data
