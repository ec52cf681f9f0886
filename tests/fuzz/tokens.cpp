// Fuzz target for token files. For any bytes, TokenFile opens the file, or throws tandem::Error; so do its reads.
#include <cstdint>
#include <cstdlib>

#include "tandem/core/error.h"
#include "tandem/tests/temporary.h"
#include "tandem/text/token_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto folder = tandem::test::TemporaryFolder::in_memory();
  tandem::test::write_file(folder / "tokens", std::string(reinterpret_cast<const char*>(data), size));
  try {
    const tandem::text::TokenFile file(folder / "tokens");
    for (const int64_t token : file.read(0, file.size()))
      if (token < 0 || token >= file.vocab_size()) std::abort();
    file.verify();
  } catch (const tandem::Error&) {}
  return 0;
}
