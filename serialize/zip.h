// Reads and writes the parts of the zip format that files of saved tensors need: stored and deflated entries, and
// zip64.
#pragma once
#include <map>
#include <vector>

#include "tandem/serialize/file.h"

namespace tandem::detail {

/// Reads the entries of a zip file. All sizes and positions in the file are checked against its length, and entries
/// must not overlap. So the total size of the unpacked entries is limited by deflate's compression ratio, to about
/// 1,000 times the size of the file.
class ZipReader {
 public:
  struct Entry {
    uint64_t at = 0;               // position of the local header; after locate_data(), position of the data
    uint64_t compressed_size = 0;  // size in the file, in bytes
    uint64_t size = 0;             // size when unpacked, in bytes
    uint32_t crc = 0;              // checksum; 0 if not computed (torch.serialization.set_crc32_options)
    bool deflated = false;
  };
  /// Reads the directory of the zip file. @throws Error that names the source and the defect
  explicit ZipReader(const ByteSource& source);
  const std::map<std::string, Entry>& entries() const { return entries_; }
  /// Read and unpack an entry, to memory or as a string. @throws Error that names the entry if it cannot be unpacked,
  /// or its checksum differs
  void read_entry(const std::string& name, const Entry& entry, void* to) const;
  std::string read_text(const std::string& name, const Entry& entry) const;

 private:
  void read_directory(uint64_t at, uint64_t bytes, uint64_t count);
  void locate_data();
  void inflate(const std::string& name, const Entry& entry, char* to) const;
  const ByteSource& source_;
  std::map<std::string, Entry> entries_;
};

/// Writes entries one after another, uncompressed, with their data aligned to 64 bytes as in PyTorch's files.
class ZipWriter {
 public:
  using Write = std::function<void(const void* from, uint64_t bytes)>;
  /// @param zip64_from  sizes and positions of at least this value are written as 64-bit numbers; tests use a lower
  ///     value
  explicit ZipWriter(Write write, uint64_t zip64_from = 0xffffffff)
      : write_(std::move(write)), zip64_threshold_(zip64_from) {}
  void add_entry(const std::string& name, const void* data, uint64_t bytes);
  void write_directory();

 private:
  struct Entry {
    std::string name;
    uint64_t at, size;
    uint32_t crc;
  };
  void write_bytes(const std::string& bytes);
  Write write_;
  uint64_t zip64_threshold_, position_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tandem::detail
