// Zip files, as far as state files need them: entries that are stored or deflated, and zip64.
#pragma once
#include <map>
#include <vector>

#include "tandem/serialize/file.h"

namespace tandem::detail {

/// Entries of a zip file. All sizes and positions in the file are checked against its length, and entries must not
/// overlap. So the entries are at most as large as deflate can make the file: about 1,000 times its size.
class ZipReader {
 public:
  struct Entry {
    uint64_t at = 0;      // position of the local header; after find_data(), of the data
    uint64_t packed = 0;  // bytes in the file
    uint64_t size = 0;    // bytes when unpacked
    uint32_t crc = 0;     // 0: the writer did not compute it (torch.serialization.set_crc32_options)
    bool deflated = false;
  };
  /// @throws Error that names the source and the defect
  explicit ZipReader(const ByteSource& source);
  const std::map<std::string, Entry>& entries() const { return entries_; }
  /// @throws Error that names the entry if it cannot be unpacked, or its checksum differs
  void read(const std::string& name, const Entry& entry, void* to) const;
  std::string text(const std::string& name, const Entry& entry) const;

 private:
  void read_directory(uint64_t at, uint64_t bytes, uint64_t count);
  void find_data();
  void inflate(const std::string& name, const Entry& entry, char* to) const;
  const ByteSource& source_;
  std::map<std::string, Entry> entries_;
};

/// Writes entries one after another, uncompressed, with their data aligned to 64 bytes as in PyTorch's files.
class ZipWriter {
 public:
  using Write = std::function<void(const void* from, uint64_t bytes)>;
  /// @param zip64_from  sizes and positions from here on are written in 64 bits; tests use a lower value
  explicit ZipWriter(Write write, uint64_t zip64_from = 0xffffffff) : write_(std::move(write)), limit_(zip64_from) {}
  void add(const std::string& name, const void* data, uint64_t bytes);
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t at, size;
    uint32_t crc;
  };
  void put(const std::string& bytes);
  Write write_;
  uint64_t limit_, at_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tandem::detail
