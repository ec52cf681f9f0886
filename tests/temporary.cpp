#include "tandem/tests/temporary.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tandem::test {

TemporaryFolder::TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path().string()) {}
TemporaryFolder TemporaryFolder::in_memory() {
  const char* const memory = "/dev/shm";
  return TemporaryFolder(::access(memory, W_OK) == 0 ? memory : std::filesystem::temp_directory_path().string());
}
TemporaryFolder::TemporaryFolder(const std::string& within) {
  static std::atomic<int> count{0};
  path_ = within + "/tandem_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++);
  std::filesystem::create_directories(path_);
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
size_t TemporaryFolder::count() const {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string mutate(std::string bytes, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  for (size_t changes = 1 + below(3); changes-- > 0;) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, 1 + below(8), static_cast<char>(random())); break;
      case 4: bytes.insert(at, bytes.substr(at, below(64))); break;
      default: bytes.erase(at, 1 + below(8));
    }
  }
  return bytes;
}

}  // namespace tandem::test
