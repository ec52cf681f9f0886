// Implements save_safetensors and load_safetensors, also for models in several files with an index.
#include "tandem/serialize/safetensors.h"

#include <algorithm>
#include <cstring>

#include "tandem/serialize/safetensors_header.h"

namespace tandem {
namespace {

void check_bools(const Tensor& tensor, const SafetensorsEntry& entry, const std::string& path) {
  if (entry.dtype != kBool) return;
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw_data());
  for (int64_t i = 0; i < tensor.numel(); ++i)
    TANDEM_CHECK(bytes[i] <= 1, "load_safetensors: bool ", i, " of '", entry.name, "' in ", path, " is ", int{bytes[i]},
                 "; accepted: 0 and 1");
}

/// Reads the header of a safetensors file. @param data  receives the position of the tensors' bytes
SafetensorsHeader read_header(const ByteSource& file, uint64_t& data) {
  const std::string& path = file.name();
  const uint64_t size = file.size();
  TANDEM_CHECK(size >= 8, "load_safetensors: ", path, " has ", size, " bytes; a safetensors file has at least 8");
  uint8_t bytes[8];
  file.read(0, bytes, sizeof(bytes));
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= uint64_t{bytes[i]} << (8 * i);
  TANDEM_CHECK(length <= kMaxSafetensorsHeaderBytes || std::memcmp(bytes, "PK\3\4", 4) != 0, "load_safetensors: ", path,
               " is a zip file, as Python's torch.save writes; accepted: safetensors. load reads either");
  TANDEM_CHECK(length <= kMaxSafetensorsHeaderBytes && length <= size - 8, "load_safetensors: ", path,
               " declares a header of ", length, " bytes; accepted: up to ",
               std::min(kMaxSafetensorsHeaderBytes, size - 8), " in a file of ", size, " bytes");
  std::string json(length, '\0');
  file.read(8, json.data(), length);
  data = 8 + length;
  return parse_safetensors_header(json, size - data, path);
}

/// Returns a tensor that views the mapped file; or a copy, if the elements are not aligned in the file.
Tensor map_tensor(const std::shared_ptr<char>& file, uint64_t at, const SafetensorsEntry& entry) {
  const uint64_t bytes = entry.end - entry.begin;
  if (bytes == 0 || at % static_cast<uint64_t>(element_size(entry.dtype)) != 0) {
    Tensor out = core::empty(entry.sizes, entry.dtype, kCPU);
    if (bytes > 0) std::memcpy(out.raw_data(), file.get() + at, bytes);
    return out;
  }
  const Storage storage(new StorageImpl(kCPU, static_cast<int64_t>(bytes), file.get() + at,
                                        [file](void*) { /* the last reference unmaps */ }));
  return Tensor(IntrusivePtr<TensorImpl>(new TensorImpl(storage, entry.sizes, 0, entry.dtype)));
}

NamedTensors load_file(const std::string& path, SafetensorsMetadata* metadata, bool mmap) {
  const FileSource file("load_safetensors", path);
  if (!mmap) return read_safetensors(file, metadata);
  uint64_t data = 0;
  SafetensorsHeader header = read_header(file, data);
  const std::shared_ptr<char> memory = file.map_file();
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : header.entries) {
    const Tensor& tensor = tensors[entry.name] = map_tensor(memory, data + entry.begin, entry);
    check_bools(tensor, entry, path);
  }
  if (metadata) *metadata = std::move(header.metadata);
  return tensors;
}

/// Loads all files that an index names; they must be in the index's folder.
NamedTensors load_shards(const std::string& path, SafetensorsMetadata* metadata, bool mmap) {
  const FileSource file("load_safetensors", path);
  TANDEM_CHECK(file.size() <= kMaxSafetensorsHeaderBytes, "load_safetensors: the index ", path, " has ", file.size(),
               " bytes; accepted: up to ", kMaxSafetensorsHeaderBytes);
  std::string json(file.size(), '\0');
  file.read(0, json.data(), json.size());
  const std::map<std::string, std::string> file_of = parse_safetensors_index(json, path);
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::map<std::string, size_t> wanted;  // number of tensors that the index lists for each file
  for (const auto& [name, shard] : file_of) ++wanted[shard];
  NamedTensors out;
  for (const auto& [shard, count] : wanted) {
    NamedTensors tensors = load_file(folder + shard, metadata, mmap);
    for (auto& [name, tensor] : tensors) {
      const auto at = file_of.find(name);
      TANDEM_CHECK(at != file_of.end() && at->second == shard, "load_safetensors: ", folder, shard, " has '", name,
                   "', which the index ", path, at == file_of.end() ? " does not list" : " places in " + at->second,
                   "; are the files and the index of the same model?");
      out.emplace(name, std::move(tensor));
    }
    TANDEM_CHECK(tensors.size() == count, "load_safetensors: ", folder, shard, " has ", tensors.size(),
                 " tensors; the index ", path, " lists ", count,
                 " for it; are the files and the index of the same model?");
  }
  return out;
}

}  // namespace

void save_safetensors(const std::vector<std::pair<std::string, Tensor>>& tensors, const std::string& path,
                      const SafetensorsMetadata& metadata) {
  const SafetensorsHeader header = detail::plan_safetensors_header(tensors, metadata, path);
  const std::string json = detail::format_safetensors_header(header, path);
  std::map<std::string, const Tensor*> by_name;
  for (const auto& [name, tensor] : tensors) by_name[name] = &tensor;

  FileSink file("save_safetensors", path);
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(uint64_t{json.size()} >> (8 * i));
  file.write(length, sizeof(length));
  file.write(json.data(), json.size());
  const NoGradGuard no_grad;
  for (const SafetensorsEntry& entry : header.entries) {
    const Tensor host = by_name[entry.name]->cpu().contiguous();
    file.write(host.raw_data(), entry.end - entry.begin);
  }
  file.commit();
}
void save_safetensors(const NamedTensors& tensors, const std::string& path, const SafetensorsMetadata& metadata) {
  save_safetensors(std::vector<std::pair<std::string, Tensor>>(tensors.begin(), tensors.end()), path, metadata);
}

void save_safetensors(std::initializer_list<std::pair<std::string, Tensor>> tensors, const std::string& path,
                      const SafetensorsMetadata& metadata) {
  save_safetensors(std::vector(tensors), path, metadata);
}

NamedTensors load_safetensors(const std::string& path, SafetensorsMetadata* metadata, bool mmap) {
  const std::string index = ".json";
  const bool is_index =
      path.size() > index.size() && path.compare(path.size() - index.size(), index.size(), index) == 0;
  return is_index ? load_shards(path, metadata, mmap) : load_file(path, metadata, mmap);
}
NamedTensors detail::read_safetensors(const ByteSource& source, SafetensorsMetadata* metadata) {
  uint64_t data = 0;
  SafetensorsHeader header = read_header(source, data);
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : header.entries) {
    Tensor& tensor = tensors[entry.name] = core::empty(entry.sizes, entry.dtype, kCPU);
    source.read(data + entry.begin, tensor.raw_data(), entry.end - entry.begin);
    check_bools(tensor, entry, source.name());
  }
  if (metadata) *metadata = std::move(header.metadata);
  return tensors;
}

}  // namespace tandem
