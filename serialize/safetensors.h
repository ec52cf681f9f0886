// safetensors: named tensors in a file, as Hugging Face's library reads and writes it; nothing in it is executed.
#pragma once
#include <initializer_list>
#include <map>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem {

using NamedTensors = std::map<std::string, Tensor>;
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Writes a temporary file beside `path` and puts it in place of `path` when it is complete and on the disk: on an
/// error, a full disk say, `path` is what it was. The same tensors give the same bytes as the Python library's.
/// @throws Error naming the file and the reason; for an undefined tensor, and for a name given twice
void save_safetensors(const std::vector<std::pair<std::string, Tensor>>& tensors, const std::string& path,
                      const SafetensorsMetadata& metadata = {});
void save_safetensors(const NamedTensors& tensors, const std::string& path, const SafetensorsMetadata& metadata = {});
void save_safetensors(std::initializer_list<std::pair<std::string, Tensor>> tensors, const std::string& path,
                      const SafetensorsMetadata& metadata = {});

/// Every tensor of a file, on the CPU; or of all the files that an index names (a path that ends with ".json", such as
/// model.safetensors.index.json), which lie beside it.
/// @param metadata  if not null, receives what the file holds under "__metadata__"; of several files the last one's
/// @param mmap  the tensors are the memory of the file itself, read from the disk when they are looked at, as long as
///     nobody shortens or changes it. Changes to them do not reach the file. Without it they are copies
/// @throws Error naming the file and what is wrong with it
NamedTensors load_safetensors(const std::string& path, SafetensorsMetadata* metadata = nullptr, bool mmap = false);

}  // namespace tandem
