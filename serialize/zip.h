// zip files, as far as state files need them: entries that are stored or deflated, and zip64.
#pragma once
#include <map>
#include <vector>

#include "tandem/serialize/file.h"

namespace tandem::detail {

/// The entries of a zip file. Whatever the file says of itself is checked against its size, and entries must not
/// overlap, so that what is read takes at most what deflate can make of the file: about 1,000 times its size.
class ZipReader {
 public:
  struct Entry {
    uint64_t at = 0;      // of the local header; once that was read, of the data
    uint64_t packed = 0;  // bytes in the file
    uint64_t size = 0;    // bytes of what they stand for
    uint32_t crc = 0;     // 0: the writer did not compute it (torch.serialization.set_crc32_options)
    bool deflated = false;
  };
  /// @throws Error naming the source and the defect
  explicit ZipReader(const ByteSource& source);
  const std::map<std::string, Entry>& entries() const { return entries_; }
  /// @throws Error naming the entry when it cannot be unpacked, or is not what its checksum says
  void read(const std::string& name, const Entry& entry, void* to) const;
  std::string text(const std::string& name, const Entry& entry) const;

 private:
  void read_directory(uint64_t at, uint64_t bytes, uint64_t count);
  void find_data();
  void inflate(const std::string& name, const Entry& entry, char* to) const;
  const ByteSource& source_;
  std::map<std::string, Entry> entries_;
};

/// Writes entries one after the other, stored, their data aligned to 64 bytes as PyTorch's are.
class ZipWriter {
 public:
  using Write = std::function<void(const void* from, uint64_t bytes)>;
  /// @param zip64_from  sizes and places from here on take 64 bits; lower in tests
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
