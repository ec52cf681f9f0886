// Implements read_idx, which reads an IDX file (plain or gzipped) into a tensor, and find_idx, which finds a file under
// one of several names.
#include "tandem/data/idx.h"

#include <filesystem>

#include "tandem/core/internal.h"
#include "tandem/data/gzip_reader.h"

namespace tandem::data {

Tensor read_idx(const std::string& path, int rank) {
  GzipReader reader("read_idx", path);
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
  uint8_t extra;
  TANDEM_CHECK(reader.read(&extra, 1) == 0, "read_idx: ", path, " has more data than the ", bytes,
               " bytes that its header declares; the file is damaged");
  reader.check_at_end();
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
