// SafetensorsHeader: the contents of a safetensors file's JSON header, and its conversion from and to JSON.
#pragma once
#include "tandem/serialize/file.h"
#include "tandem/serialize/safetensors.h"

namespace tandem::detail {

/// Name, dtype and sizes of a tensor, and the position of its bytes, counted from the end of the header.
struct SafetensorsEntry {
  std::string name;
  DType dtype;
  Shape sizes;
  uint64_t begin, end;
};
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // one entry per tensor, in the order of their bytes in the file
  SafetensorsMetadata metadata;
};

constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;  // maximum bytes of the header, as the format specifies

/// Assigns a position in the file to each tensor, in the same order as the Python library: wider dtypes first, so that
/// all tensors are aligned, then by name.
SafetensorsHeader plan_safetensors_header(const std::vector<std::pair<std::string, Tensor>>& tensors,
                                          const SafetensorsMetadata& metadata, const std::string& path);
/// Returns the header as JSON text, padded with spaces to a multiple of 8 bytes.
std::string format_safetensors_header(const SafetensorsHeader& header, const std::string& path);
/// Parses and checks the JSON text of a header.
/// @param data_bytes  number of bytes after the header, which the entries must cover exactly
SafetensorsHeader parse_safetensors_header(const std::string& json, uint64_t data_bytes, const std::string& path);
/// Parses the index of a model in several files (shards). Returns a map from each tensor's name to the name of its
/// file.
/// @throws Error if the text is not an index, or a file is not in the index's folder
std::map<std::string, std::string> parse_safetensors_index(const std::string& json, const std::string& path);
/// Reads safetensors from any source, as load_safetensors does from a file.
NamedTensors read_safetensors(const ByteSource& source, SafetensorsMetadata* metadata);

}  // namespace tandem::detail
