// Implements ZipWriter, which writes entries without compression, with data aligned to 64 bytes, and then the
// directory.
#include <zlib.h>

#include "tandem/serialize/zip.h"

namespace tandem::detail {
namespace {

void append_little_endian(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}
constexpr uint64_t kAlignment = 64, kZip64Marker = 0xffffffff;

}  // namespace

void ZipWriter::write_bytes(const std::string& bytes) {
  write_(bytes.data(), bytes.size());
  position_ += bytes.size();
}

void ZipWriter::add_entry(const std::string& name, const void* data, uint64_t bytes) {
  const bool wide = bytes >= zip64_threshold_;
  const Entry entry{name, position_, bytes,
                    static_cast<uint32_t>(::crc32_z(0, static_cast<const Bytef*>(data), data ? bytes : 0))};
  std::string extra;
  if (wide) {
    append_little_endian(extra, 1, 2);
    append_little_endian(extra, 16, 2);
    append_little_endian(extra, bytes, 8);
    append_little_endian(extra, bytes, 8);
  }
  // An extra field with PyTorch's tag "FB" pads the header, so that the data is aligned.
  const uint64_t data_at = position_ + 30 + name.size() + extra.size() + 4;
  const uint64_t fill = (kAlignment - data_at % kAlignment) % kAlignment;
  append_little_endian(extra, 0x4246, 2);
  append_little_endian(extra, fill, 2);
  extra.append(fill, 'Z');

  std::string header;
  append_little_endian(header, 0x04034b50, 4);
  append_little_endian(header, wide ? 45 : 20, 2);
  append_little_endian(header, 0x0800, 2);  // the name is UTF-8
  append_little_endian(header, 0, 2);
  append_little_endian(header, 0x00210000, 4);  // method "stored", and the date 1 January 1980
  append_little_endian(header, entry.crc, 4);
  append_little_endian(header, wide ? kZip64Marker : bytes, 4);
  append_little_endian(header, wide ? kZip64Marker : bytes, 4);
  append_little_endian(header, name.size(), 2);
  append_little_endian(header, extra.size(), 2);
  write_bytes(header + name + extra);
  if (bytes > 0) write_(data, bytes);
  position_ += bytes;
  entries_.push_back(entry);
}

void ZipWriter::write_directory() {
  const uint64_t begin = position_;
  for (const Entry& e : entries_) {
    const bool wide_size = e.size >= zip64_threshold_, wide_at = e.at >= zip64_threshold_;
    std::string extra;
    if (wide_size || wide_at) {
      append_little_endian(extra, 1, 2);
      append_little_endian(extra, (wide_size ? 16 : 0) + (wide_at ? 8 : 0), 2);
      if (wide_size) {
        append_little_endian(extra, e.size, 8);
        append_little_endian(extra, e.size, 8);
      }
      if (wide_at) append_little_endian(extra, e.at, 8);
    }
    std::string header;
    append_little_endian(header, 0x02014b50, 4);
    append_little_endian(header, 45, 2);
    append_little_endian(header, extra.empty() ? 20 : 45, 2);
    append_little_endian(header, 0x0800, 2);
    append_little_endian(header, 0, 2);
    append_little_endian(header, 0x00210000, 4);
    append_little_endian(header, e.crc, 4);
    append_little_endian(header, wide_size ? kZip64Marker : e.size, 4);
    append_little_endian(header, wide_size ? kZip64Marker : e.size, 4);
    append_little_endian(header, e.name.size(), 2);
    append_little_endian(header, extra.size(), 2);
    header.append(10, '\0');  // zeros for comment length, disk number and attributes
    append_little_endian(header, wide_at ? kZip64Marker : e.at, 4);
    write_bytes(header + e.name + extra);
  }
  const uint64_t bytes = position_ - begin, end64 = position_, count = entries_.size();
  const bool wide = begin >= zip64_threshold_ || bytes >= zip64_threshold_ || count >= 0xffff;
  std::string end;
  if (wide) {
    append_little_endian(end, 0x06064b50, 4);
    append_little_endian(end, 44, 8);
    append_little_endian(end, 45, 2);
    append_little_endian(end, 45, 2);
    append_little_endian(end, 0, 8);
    append_little_endian(end, count, 8);
    append_little_endian(end, count, 8);
    append_little_endian(end, bytes, 8);
    append_little_endian(end, begin, 8);
    append_little_endian(end, 0x07064b50, 4);
    append_little_endian(end, 0, 4);
    append_little_endian(end, end64, 8);
    append_little_endian(end, 1, 4);
  }
  append_little_endian(end, 0x06054b50, 4);
  append_little_endian(end, 0, 4);
  append_little_endian(end, wide ? 0xffff : count, 2);
  append_little_endian(end, wide ? 0xffff : count, 2);
  append_little_endian(end, wide ? kZip64Marker : bytes, 4);
  append_little_endian(end, wide ? kZip64Marker : begin, 4);
  append_little_endian(end, 0, 2);
  write_bytes(end);
}

}  // namespace tandem::detail
