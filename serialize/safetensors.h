// Saves and loads safetensors files, compatible with Hugging Face's library. A safetensors file contains named tensors
// and no code.
#pragma once
#include <initializer_list>
#include <map>
#include <utility>

#include "tandem/core/tensor.h"

namespace tandem {

using NamedTensors = std::map<std::string, Tensor>;
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Writes a temporary file beside `path`, and renames it to `path` when it is complete and on the disk. After an error,
/// such as a full disk, a file at `path` is unchanged. The file has the same bytes as the file that the Python library
/// writes for the same tensors.
/// @throws Error that names the file and the reason; also if a tensor is undefined or two tensors have the same name
void save_safetensors(const std::vector<std::pair<std::string, Tensor>>& tensors, const std::string& path,
                      const SafetensorsMetadata& metadata = {});
void save_safetensors(const NamedTensors& tensors, const std::string& path, const SafetensorsMetadata& metadata = {});
void save_safetensors(std::initializer_list<std::pair<std::string, Tensor>> tensors, const std::string& path,
                      const SafetensorsMetadata& metadata = {});

/// Returns all tensors of a file, on the CPU; or of all the files that an index names (a path that ends with ".json",
/// such as model.safetensors.index.json), which must be in the same folder.
/// @param metadata  if not null, receives the file's "__metadata__"; if there are several files, the metadata of the
///     last file
/// @param mmap  if true, the tensors are views of the mapped file, which is read from the disk when it is accessed and
///     must not be shortened or changed meanwhile. Changes to the tensors do not reach the file. If false, the tensors
///     are copies
/// @throws Error that names the file and what is wrong with it
NamedTensors load_safetensors(const std::string& path, SafetensorsMetadata* metadata = nullptr, bool mmap = false);

}  // namespace tandem
