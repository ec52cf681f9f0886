// The JSON header of a safetensors file, as plain values.
#pragma once
#include "tandem/serialize/file.h"
#include "tandem/serialize/safetensors.h"

namespace tandem::detail {

/// Position of a tensor's bytes, counted from the end of the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype;
  Shape sizes;
  uint64_t begin, end;
};
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  SafetensorsMetadata metadata;
};

constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes; the format's own limit

/// Lays the tensors out as the Python library does: wider types first, so that all are aligned, then by name.
SafetensorsHeader layout_safetensors(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                     const SafetensorsMetadata& metadata, const std::string& path);
/// Returns the JSON text, padded with spaces to a multiple of 8 bytes.
std::string format_safetensors(const SafetensorsHeader& header, const std::string& path);
/// Parses and checks the JSON text.
/// @param data_bytes  number of bytes after the header; the entries must cover them exactly
SafetensorsHeader parse_safetensors(const std::string& json, uint64_t data_bytes, const std::string& path);
/// Returns the file that each tensor of a sharded model is in, from the text of its index.
/// @throws Error if the text is not an index, or a file is not in the index's folder
std::map<std::string, std::string> parse_safetensors_index(const std::string& json, const std::string& path);
/// Reads safetensors from any source, as load_safetensors does from a file.
NamedTensors read_safetensors(const ByteSource& source, SafetensorsMetadata* metadata);

}  // namespace tandem::detail
