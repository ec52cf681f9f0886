// Runs a fuzz target on given files and folders of files, like libFuzzer's main with -runs=0, but for any compiler.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "tandem/tests/temporary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  int count = 0;
  const auto run = [&](const std::filesystem::path& path) {
    const std::string bytes = tandem::test::read_file(path.string());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++count;
  };
  for (int i = 1; i < argc; ++i) {
    if (argv[i][0] == '-') continue;  // an option of libFuzzer
    if (!std::filesystem::is_directory(argv[i]))
      run(argv[i]);
    else
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) run(entry.path());
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
