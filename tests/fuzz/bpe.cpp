// Fuzz target for byte-level BPE. The first byte chooses what the other bytes are: a text, which must decode to itself;
// a tokenizer.json; vocab.json and merges.txt with a zero byte between them; or a text to train on. For any bytes, the
// functions return or throw tandem::Error.
#include <cstdint>
#include <cstdlib>

#include "tandem/tests/temporary.h"
#include "tandem/text/byte_level.h"
#include "tandem/text/train_bpe.h"

using namespace tandem::text;

namespace {

void check_round_trip(const GPT2Tokenizer& tokenizer, const std::string& text) {
  if (tokenizer.options().add_prefix_space()) return;
  for (const AddedToken& token : tokenizer.vocabulary().added_tokens) {
    if (token.lstrip || token.rstrip) return;
    // A token of the vocabulary that is also searched for in its written form, such as "Ġ", decodes to its bytes.
    if (detail::token_to_bytes(token.content).value_or(token.content) != token.content) return;
  }
  if (tokenizer.decode(tokenizer.tokenize_to_ids(text)) != text) std::abort();
}
const GPT2Tokenizer& small_tokenizer() {
  static const GPT2Tokenizer tokenizer = train_bpe({"the cat's hat, the cat's 12 hats\n\nthe caf\u00e9"});
  return tokenizer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tandem::test::TemporaryFolder folder = tandem::test::TemporaryFolder::in_memory();
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0] % 4) {
      case 0: check_round_trip(small_tokenizer(), bytes); break;
      case 1:
        tandem::test::write_file(folder / "tokenizer.json", bytes);
        check_round_trip(*load_gpt2_tokenizer(folder / "tokenizer.json"), "the cat's <|endoftext|> hat\xff");
        break;
      case 2: {
        const size_t end = std::min(bytes.find('\0'), bytes.size());
        tandem::test::write_file(folder / "vocab.json", bytes.substr(0, end));
        tandem::test::write_file(folder / "merges.txt", bytes.substr(std::min(end + 1, bytes.size())));
        check_round_trip(GPT2Tokenizer(folder / "vocab.json", folder / "merges.txt"), "the cat's \xff hat");
        break;
      }
      default: check_round_trip(train_bpe({bytes}, BpeTrainerOptions().vocab_size(300)), bytes);
    }
  } catch (const tandem::Error&) {}
  return 0;
}
