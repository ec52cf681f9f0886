// Fuzz target for tokenizer.json. For any bytes, load_tokenizer returns a tokenizer or throws tandem::Error. A
// tokenizer encodes any text, and gives the same numbers after it is saved and loaded again.
#include <cstdint>
#include <cstdlib>

#include "tandem/tests/temporary.h"
#include "tandem/text/tokenizer.h"

using tandem::text::Tokenizer;

namespace {

bool saves(const Tokenizer& tokenizer, const std::string& folder) {
  try {
    tokenizer.save(folder);
    return true;
  } catch (const tandem::Error&) {  // a vocabulary that the files cannot hold
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tandem::test::TemporaryFolder folder = tandem::test::TemporaryFolder::in_memory();
  const std::string bytes(reinterpret_cast<const char*>(data), size), path = folder / "tokenizer.json";
  tandem::test::write_file(path, bytes);
  std::shared_ptr<const Tokenizer> tokenizer;
  try {
    tokenizer = tandem::text::load_tokenizer(path);
  } catch (const tandem::Error&) {
    return 0;
  }
  // Everything here is accepted: errors escape.
  const std::string text = "a Ab, abba [MASK] \xc3\xa9\xff caf\xc3\xa9 \xe4\xb8\xad " + bytes;
  const auto options = tandem::text::EncodeOptions().truncation("do_not_truncate");
  const auto encoding = tokenizer->encode(text, "b", options);
  tokenizer->decode(encoding.ids, true);
  if (!saves(*tokenizer, folder / "saved")) return 0;
  const auto again = tandem::text::load_tokenizer(folder / "saved");
  if (again->encode(text, "b", options).ids != encoding.ids) std::abort();
  return 0;
}
