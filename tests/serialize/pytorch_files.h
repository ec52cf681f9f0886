// Files that torch.save of Python and of LibTorch wrote, and helpers to build archives from pickles written by hand.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "tandem/serialize/pytorch_file.h"
#include "tandem/serialize/zip.h"
#include "tandem/tests/paths.h"

namespace tandem::test {

inline std::string pytorch_file(const std::string& name) { return std::string(kFixtures) + "/pytorch/" + name + ".pt"; }
/// The values k / 16 for k from -8 to 7, rotated by `salt`; the same as in make_pytorch_files.py.
inline Tensor file_values(IntArrayRef sizes, int64_t salt) {
  return arange(detail::numel_of(sizes)).mul(7).add(salt).remainder(16).sub(8).to(kFloat32).div(16).reshape(sizes);
}
/// Returns a zip archive of the entries (name, contents).
inline std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out;
  detail::ZipWriter zip([&](const void* from, uint64_t bytes) { out.append(static_cast<const char*>(from), bytes); });
  for (const auto& [name, content] : entries) zip.add_entry(name, content.data(), content.size());
  zip.write_directory();
  return out;
}
/// Returns a PyTorch file with this pickle and one 16-byte storage, "0".
inline std::string file_of_pickle(const std::string& pickle) {
  return zip_of({{"a/data.pkl", pickle}, {"a/data/0", std::string("0123456789abcdef")}, {"a/version", "3\n"}});
}
inline IValue read_bytes(const std::string& bytes) { return pickle_load({bytes.begin(), bytes.end()}); }

}  // namespace tandem::test
