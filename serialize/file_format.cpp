// Implements format_of, which recognises zip files, old pickles and safetensors by the first and last bytes of a file.
#include "tandem/serialize/file_format.h"

#include <algorithm>
#include <cstring>

#include "tandem/serialize/safetensors_header.h"

namespace tandem::detail {
namespace {

/// Pickled magic number at the beginning of files that torch.save wrote before PyTorch 1.6, and that it still writes
/// with _use_new_zipfile_serialization=False.
constexpr char kLegacyMagic[] = "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr size_t kLegacyMagicBytes = sizeof kLegacyMagic - 1;
constexpr uint64_t kZipEndBytes = 22;  // size of a zip file's end record without a comment

bool has_zip_end_record(const ByteSource& source) {
  if (source.size() < kZipEndBytes) return false;
  char end[4];
  source.read(source.size() - kZipEndBytes, end, sizeof end);
  return std::memcmp(end, "PK\5\6", sizeof end) == 0;
}

}  // namespace

FileFormat format_of(const ByteSource& source) {
  const uint64_t size = source.size();
  char start[16] = {};
  source.read(0, start, std::min<uint64_t>(size, sizeof start));
  uint64_t header = 0;  // length of the JSON header, if the file is safetensors
  for (int i = 0; i < 8; ++i) header |= uint64_t{static_cast<uint8_t>(start[i])} << (8 * i);
  const bool fits = size > 8 && header <= std::min(kMaxSafetensorsHeaderBytes, size - 8);
  const bool has_brace = size > 8 && start[8] == '{';
  // No other format passes this test. Byte 8 of a zip file is the low byte of a compression method, 0 or 8. A pickle
  // whose bytes 4 to 7 are 0 and whose byte 8 is '{' would begin with a string of at least 80 MB.
  if (fits && has_brace) return FileFormat::safetensors;

  size_t legacy = 0;
  for (size_t i = 0; i < kLegacyMagicBytes; ++i) legacy += start[i] == kLegacyMagic[i] ? 1 : 0;
  if (legacy + 1 >= kLegacyMagicBytes) return FileFormat::legacy;
  const bool begins_as_zip = std::memcmp(start, "PK\3\4", 4) == 0 || std::memcmp(start, "PK\5\6", 4) == 0;
  if (begins_as_zip || has_zip_end_record(source)) return FileFormat::zip;
  // The file is a truncated safetensors file, or has a wrong length.
  if (has_brace && (size == 9 || start[9] == '"' || start[9] == '}' || start[9] == ' ')) return FileFormat::safetensors;
  if (start[0] == '\x80' && 2 <= start[1] && start[1] <= 5) return FileFormat::pickle;
  return fits ? FileFormat::safetensors : FileFormat::unknown;
}

}  // namespace tandem::detail
