// Fuzz target for IDX files, plain and gzipped. For any bytes, read_idx returns a tensor or throws tandem::Error.
#include <cstdint>

#include "tandem/data/idx.h"
#include "tandem/tests/temporary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tandem::test::TemporaryFolder folder = tandem::test::TemporaryFolder::in_memory();
  const std::string path = folder / "file";
  tandem::test::write_file(path, {reinterpret_cast<const char*>(data), size});
  for (const int rank : {1, 3}) try {
      tandem::data::read_idx(path, rank).sum();  // reads every element
    } catch (const tandem::Error&) {}
  return 0;
}
