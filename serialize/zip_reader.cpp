// Implements ZipReader, which reads the directory of a zip file and its entries, stored or deflated.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "tandem/core/error.h"
#include "tandem/serialize/zip.h"

namespace tandem::detail {
namespace {

/// Returns the little-endian number that consists of the `bytes` bytes at `from`.
uint64_t read_unsigned(const char* from, size_t bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes; ++i) out |= uint64_t{static_cast<uint8_t>(from[i])} << (8 * i);
  return out;
}
constexpr uint64_t kEndRecordBytes = 22, kZip64EndRecordBytes = 56, kZip64LocatorBytes = 20, kCentralHeaderBytes = 46,
                   kLocalHeaderBytes = 30;
constexpr uint32_t kEndRecordSignature = 0x06054b50, kZip64EndRecordSignature = 0x06064b50,
                   kZip64LocatorSignature = 0x07064b50, kCentralHeaderSignature = 0x02014b50,
                   kLocalHeaderSignature = 0x04034b50;

/// The 64-bit numbers in a directory entry's extra field. They replace, in order, those 32-bit numbers of the entry
/// whose bits are all ones.
struct Zip64ExtraField {
  const char* at = nullptr;
  uint64_t remaining_bytes = 0;
  Zip64ExtraField(const char* extra, uint64_t bytes) {
    while (bytes >= 4) {
      const uint64_t tag = read_unsigned(extra, 2), length = read_unsigned(extra + 2, 2);
      if (length > bytes - 4) return;
      if (tag == 1) {
        at = extra + 4;
        remaining_bytes = length;
        return;
      }
      extra += 4 + length;
      bytes -= 4 + length;
    }
  }
  bool replace_if_saturated(uint64_t& value) {
    if (value != 0xffffffff) return true;
    if (remaining_bytes < 8) return false;
    value = read_unsigned(at, 8);
    at += 8;
    remaining_bytes -= 8;
    return true;
  }
};

}  // namespace

ZipReader::ZipReader(const ByteSource& source) : source_(source) {
  const std::string& name = source.name();
  const uint64_t size = source.size(),
                 tail_size = std::min<uint64_t>(size, kEndRecordBytes + 0xffff + kZip64LocatorBytes);
  std::string tail(tail_size, '\0');
  source.read(size - tail_size, tail.data(), tail_size);
  // Search backwards for the end record. A comment may follow the end record, which states the length of the comment.
  uint64_t end = 0;
  bool found = false;
  for (uint64_t back = kEndRecordBytes; back <= tail_size && !found; ++back) {
    end = tail_size - back;
    found = read_unsigned(&tail[end], 4) == kEndRecordSignature &&
            read_unsigned(&tail[end + 20], 2) == back - kEndRecordBytes;
  }
  TANDEM_CHECK(found, name, ": this zip file of ", size,
               " bytes has no end record: it is truncated, or not a zip file");
  TANDEM_CHECK(read_unsigned(&tail[end + 4], 2) == 0 || read_unsigned(&tail[end + 4], 2) == 0xffff, name,
               ": this zip file is one part of a multi-part archive; accepted: a single file");
  uint64_t count = read_unsigned(&tail[end + 10], 2), bytes = read_unsigned(&tail[end + 12], 4),
           at = read_unsigned(&tail[end + 16], 4);
  uint64_t stop = size - tail_size + end;  // position of the zip file's end record; the directory must end before it
  if (end >= kZip64LocatorBytes && read_unsigned(&tail[end - kZip64LocatorBytes], 4) == kZip64LocatorSignature) {
    const uint64_t record = read_unsigned(&tail[end - kZip64LocatorBytes + 8], 8);
    TANDEM_CHECK(record <= stop - kZip64LocatorBytes && stop - kZip64LocatorBytes - record >= kZip64EndRecordBytes,
                 name, ": the zip64 end record is declared to begin at byte ", record, " of ", size,
                 ", which leaves no room for it; the file is damaged");
    char fields[kZip64EndRecordBytes];
    source.read(record, fields, sizeof fields);
    TANDEM_CHECK(read_unsigned(fields, 4) == kZip64EndRecordSignature, name, ": there is no zip64 end record at byte ",
                 record, ", where the file declares it; the file is damaged");
    count = read_unsigned(fields + 32, 8);
    bytes = read_unsigned(fields + 40, 8);
    at = read_unsigned(fields + 48, 8);
    stop = record;
  }
  TANDEM_CHECK(at <= stop && bytes <= stop - at && count <= bytes / kCentralHeaderBytes, name,
               ": the zip directory of ", count, " entries declares ", bytes, " bytes from position ", at,
               ", but must end by ", stop, "; the file is damaged");
  read_directory(at, bytes, count);
  locate_data();
}

void ZipReader::read_directory(uint64_t at, uint64_t bytes, uint64_t count) {
  const std::string& name = source_.name();
  std::string directory(bytes, '\0');
  source_.read(at, directory.data(), bytes);
  uint64_t from = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const char* const fields = directory.data() + from;
    TANDEM_CHECK(bytes - from >= kCentralHeaderBytes && read_unsigned(fields, 4) == kCentralHeaderSignature, name,
                 ": entry ", i, " of ", count, " in the zip directory is damaged");
    const uint64_t name_size = read_unsigned(fields + 28, 2), extra = read_unsigned(fields + 30, 2),
                   comment = read_unsigned(fields + 32, 2);
    TANDEM_CHECK(name_size + extra + comment <= bytes - from - kCentralHeaderBytes, name, ": entry ", i, " of ", count,
                 " in the zip directory extends past the directory's end; the file is damaged");
    const std::string entry_name(fields + kCentralHeaderBytes, name_size);
    const uint64_t flags = read_unsigned(fields + 8, 2), method = read_unsigned(fields + 10, 2);
    TANDEM_CHECK((flags & 1) == 0, name, ": '", entry_name, "' is encrypted; accepted: entries without encryption");
    TANDEM_CHECK(method == 0 || method == 8, name, ": '", entry_name, "' is compressed by method ", method,
                 "; accepted: 0 (stored) and 8 (deflated)");
    Entry entry;
    entry.deflated = method == 8;
    entry.crc = static_cast<uint32_t>(read_unsigned(fields + 16, 4));
    entry.compressed_size = read_unsigned(fields + 20, 4);
    entry.size = read_unsigned(fields + 24, 4);
    entry.at = read_unsigned(fields + 42, 4);
    Zip64ExtraField wide(fields + kCentralHeaderBytes + name_size, extra);
    TANDEM_CHECK(wide.replace_if_saturated(entry.size) && wide.replace_if_saturated(entry.compressed_size) &&
                     wide.replace_if_saturated(entry.at),
                 name, ": '", entry_name,
                 "' has no 64-bit sizes, which its entry in the zip directory requires; the file is damaged");
    // Deflate expands by a factor of at most 1,032.
    TANDEM_CHECK(entry.compressed_size <= source_.size() && (entry.deflated ? entry.size / 1040 <= entry.compressed_size
                                                                            : entry.size == entry.compressed_size),
                 name, ": '", entry_name, "' declares ", entry.size, " bytes, stored in ", entry.compressed_size,
                 " bytes of a file of ", source_.size(), "; the file is damaged, or not a zip archive");
    TANDEM_CHECK(entries_.emplace(entry_name, entry).second, name, ": the entry '", entry_name,
                 "' occurs twice; each name must occur once");
    from += kCentralHeaderBytes + name_size + extra + comment;
  }
}

void ZipReader::locate_data() {
  const std::string& name = source_.name();
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  ranges.reserve(entries_.size());
  for (auto& [entry_name, entry] : entries_) {
    char fields[kLocalHeaderBytes];
    TANDEM_CHECK(entry.at <= source_.size() && source_.size() - entry.at >= kLocalHeaderBytes, name, ": '", entry_name,
                 "' is declared to begin at byte ", entry.at, " of ", source_.size(),
                 ", which leaves no room for its header; the file is damaged");
    source_.read(entry.at, fields, sizeof fields);
    TANDEM_CHECK(read_unsigned(fields, 4) == kLocalHeaderSignature, name, ": '", entry_name,
                 "' has no zip header at byte ", entry.at,
                 ", where the zip directory says that it begins; the file is damaged");
    const uint64_t begin = entry.at,
                   data = begin + kLocalHeaderBytes + read_unsigned(fields + 26, 2) + read_unsigned(fields + 28, 2);
    TANDEM_CHECK(data <= source_.size() && entry.compressed_size <= source_.size() - data, name, ": '", entry_name,
                 "' of ", entry.compressed_size, " bytes extends past the end of the file: it is truncated");
    entry.at = data;
    ranges.emplace_back(begin, data + entry.compressed_size);
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i)
    TANDEM_CHECK(ranges[i - 1].second <= ranges[i].first, name, ": the zip entries at ", ranges[i - 1].first, " and ",
                 ranges[i].first, " overlap; the file is damaged");
}

void ZipReader::read_entry(const std::string& name, const Entry& entry, void* to) const {
  char* const out = static_cast<char*>(to);
  if (entry.deflated)
    inflate(name, entry, out);
  else
    source_.read(entry.at, out, entry.size);
  if (entry.crc == 0) return;
  const uint32_t crc = static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(out), entry.size));
  TANDEM_CHECK(crc == entry.crc, source_.name(), ": '", name, "' is damaged: its checksum is ", crc,
               ", but the zip directory declares ", entry.crc);
}
std::string ZipReader::read_text(const std::string& name, const Entry& entry) const {
  std::string out(entry.size, '\0');
  read_entry(name, entry, out.data());
  return out;
}

void ZipReader::inflate(const std::string& name, const Entry& entry, char* to) const {
  z_stream stream{};
  TANDEM_CHECK(::inflateInit2(&stream, -MAX_WBITS) == Z_OK, source_.name(), ": '", name,
               "' cannot be decompressed: zlib ran out of memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, ::inflateEnd);
  std::string buffer(std::min<uint64_t>(entry.compressed_size, 1 << 16), '\0');
  uint64_t read = 0, num_inflated = 0;
  Bytef spare;  // inflate needs an output buffer, even for an empty entry
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0 && read < entry.compressed_size) {
      const uint64_t n = std::min<uint64_t>(buffer.size(), entry.compressed_size - read);
      source_.read(entry.at + read, buffer.data(), n);
      stream.next_in = reinterpret_cast<Bytef*>(buffer.data());
      stream.avail_in = static_cast<uInt>(n);
      read += n;
    }
    const uint64_t out_capacity = std::min<uint64_t>(entry.size - num_inflated, 1 << 30);
    stream.next_out = entry.size ? reinterpret_cast<Bytef*>(to + num_inflated) : &spare;
    stream.avail_out = static_cast<uInt>(out_capacity);
    status = ::inflate(&stream, Z_NO_FLUSH);
    num_inflated += out_capacity - stream.avail_out;
  }
  TANDEM_CHECK(status == Z_STREAM_END && num_inflated == entry.size, source_.name(), ": '", name,
               "' cannot be decompressed: zlib produced ", num_inflated, " of ", entry.size, " bytes",
               stream.msg ? std::string(" and says ") + stream.msg : std::string(), "; the file is damaged");
}

}  // namespace tandem::detail
