// Files that Python's and LibTorch's torch.save wrote, and pickles written by hand, for the tests beside this.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "tandem/serialize/pytorch_file.h"
#include "tandem/serialize/zip.h"
#include "tandem/tests/paths.h"

namespace tandem::test {

inline std::string pytorch_file(const std::string& name) { return std::string(kFixtures) + "/pytorch/" + name + ".pt"; }
/// k / 16 for k from -8 to 7, in an order that salt turns: make_pytorch_files.py.
inline Tensor file_values(IntArrayRef sizes, int64_t salt) {
  return arange(detail::numel_of(sizes)).mul(7).add(salt).remainder(16).sub(8).to(kFloat32).div(16).reshape(sizes);
}
/// A zip file of entries by name.
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  detail::ZipWriter zip([&](const void* from, uint64_t bytes) { out.append(static_cast<const char*>(from), bytes); });
  for (const auto& [name, content] : entries) zip.add(name, content.data(), content.size());
  zip.finish();
  return out;
}
/// A file with this pickle and one storage of 16 bytes, "0".
inline std::string file_of_pickle(const std::string& pickle) {
  return zip_of({{"a/data.pkl", pickle}, {"a/data/0", std::string("0123456789abcdef")}, {"a/version", "3\n"}});
}
inline IValue read_bytes(const std::string& bytes) { return pickle_load({bytes.begin(), bytes.end()}); }

}  // namespace tandem::test
