// Tests TextStreamer: text is passed on in whole characters.
#include "tandem/text/text_streamer.h"

#include "tandem/tests/catch.h"
#include "tandem/tests/text/has_unicode.h"
#include "tandem/text/train_bpe.h"

using namespace tandem;
using Parts = std::vector<std::string>;

namespace {

/// Streams one token for each byte.
Parts stream_bytes(const std::string& bytes) {
  static const text::GPT2Tokenizer tokenizer = text::train_bpe({"a"}, text::BpeTrainerOptions().vocab_size(257));
  Parts parts;
  text::TextStreamer streamer(tokenizer, [&](const std::string& text) { parts.push_back(text); });
  for (const int64_t id : tokenizer.tokenize_to_ids(bytes)) streamer.put(id);
  streamer.put(*tokenizer.eos_token_id());  // a special token has no text
  streamer.end();
  return parts;
}

}  // namespace

TEST_CASE("a streamer passes on whole characters of UTF-8, and broken ones at the latest at the end", "[text]") {
  if (!test::has_unicode()) return;
  CHECK(stream_bytes("ab") == Parts{"a", "b"});
  CHECK(stream_bytes("") == Parts{});
  CHECK(stream_bytes("a\u00e9\u20ac\U0001F600z") == Parts{"a", "\u00e9", "\u20ac", "\U0001F600", "z"});
  CHECK(stream_bytes("\xe2\x82") == Parts{"\xe2\x82"});                        // cut: passed on by end()
  CHECK(stream_bytes("\xe2\x82q") == Parts{"\xe2\x82q"});                      // cut by a letter
  CHECK(stream_bytes("\xff\x80\x80q") == Parts{"\xff", "\x80", "\x80", "q"});  // no character begins so
  CHECK(stream_bytes("\x80\x80\x80\x80") == Parts{"\x80", "\x80", "\x80", "\x80"});
}
