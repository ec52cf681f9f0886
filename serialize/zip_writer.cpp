// Implements ZipWriter, which writes entries without compression, with data aligned to 64 bytes, and then the
// directory.
#include <zlib.h>

#include "tandem/serialize/zip.h"

namespace tandem::detail {
namespace {

void append(std::string& to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i));
}
constexpr uint64_t kAlignment = 64, kZip64Marker = 0xffffffff;

}  // namespace

void ZipWriter::put(const std::string& bytes) {
  write_(bytes.data(), bytes.size());
  at_ += bytes.size();
}

void ZipWriter::add(const std::string& name, const void* data, uint64_t bytes) {
  const bool wide = bytes >= zip64_threshold_;
  const Entry entry{name, at_, bytes,
                    static_cast<uint32_t>(::crc32_z(0, static_cast<const Bytef*>(data), data ? bytes : 0))};
  std::string extra;
  if (wide) {
    append(extra, 1, 2);
    append(extra, 16, 2);
    append(extra, bytes, 8);
    append(extra, bytes, 8);
  }
  // An extra field with PyTorch's tag "FB" pads the header, so that the data is aligned.
  const uint64_t data_at = at_ + 30 + name.size() + extra.size() + 4;
  const uint64_t fill = (kAlignment - data_at % kAlignment) % kAlignment;
  append(extra, 0x4246, 2);
  append(extra, fill, 2);
  extra.append(fill, 'Z');

  std::string header;
  append(header, 0x04034b50, 4);
  append(header, wide ? 45 : 20, 2);
  append(header, 0x0800, 2);  // the name is UTF-8
  append(header, 0, 2);
  append(header, 0x00210000, 4);  // method "stored", and the date 1 January 1980
  append(header, entry.crc, 4);
  append(header, wide ? kZip64Marker : bytes, 4);
  append(header, wide ? kZip64Marker : bytes, 4);
  append(header, name.size(), 2);
  append(header, extra.size(), 2);
  put(header + name + extra);
  if (bytes > 0) write_(data, bytes);
  at_ += bytes;
  entries_.push_back(entry);
}

void ZipWriter::finish() {
  const uint64_t begin = at_;
  for (const Entry& e : entries_) {
    const bool wide_size = e.size >= zip64_threshold_, wide_at = e.at >= zip64_threshold_;
    std::string extra;
    if (wide_size || wide_at) {
      append(extra, 1, 2);
      append(extra, (wide_size ? 16 : 0) + (wide_at ? 8 : 0), 2);
      if (wide_size) {
        append(extra, e.size, 8);
        append(extra, e.size, 8);
      }
      if (wide_at) append(extra, e.at, 8);
    }
    std::string header;
    append(header, 0x02014b50, 4);
    append(header, 45, 2);
    append(header, extra.empty() ? 20 : 45, 2);
    append(header, 0x0800, 2);
    append(header, 0, 2);
    append(header, 0x00210000, 4);
    append(header, e.crc, 4);
    append(header, wide_size ? kZip64Marker : e.size, 4);
    append(header, wide_size ? kZip64Marker : e.size, 4);
    append(header, e.name.size(), 2);
    append(header, extra.size(), 2);
    header.append(10, '\0');  // zeros for comment length, disk number and attributes
    append(header, wide_at ? kZip64Marker : e.at, 4);
    put(header + e.name + extra);
  }
  const uint64_t bytes = at_ - begin, end64 = at_, count = entries_.size();
  const bool wide = begin >= zip64_threshold_ || bytes >= zip64_threshold_ || count >= 0xffff;
  std::string end;
  if (wide) {
    append(end, 0x06064b50, 4);
    append(end, 44, 8);
    append(end, 45, 2);
    append(end, 45, 2);
    append(end, 0, 8);
    append(end, count, 8);
    append(end, count, 8);
    append(end, bytes, 8);
    append(end, begin, 8);
    append(end, 0x07064b50, 4);
    append(end, 0, 4);
    append(end, end64, 8);
    append(end, 1, 4);
  }
  append(end, 0x06054b50, 4);
  append(end, 0, 4);
  append(end, wide ? 0xffff : count, 2);
  append(end, wide ? 0xffff : count, 2);
  append(end, wide ? kZip64Marker : bytes, 4);
  append(end, wide ? kZip64Marker : begin, 4);
  append(end, 0, 2);
  put(end);
}

}  // namespace tandem::detail
