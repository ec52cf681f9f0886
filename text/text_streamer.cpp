// Implements TextStreamer.
#include "tandem/text/text_streamer.h"

#include <algorithm>

namespace tandem::text {
namespace {

/// Returns the number of bytes of the UTF-8 character that begins with this byte; 1 for a byte that begins none.
size_t character_length(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte >= 0xF0 && byte <= 0xF4 ? 4 : byte >= 0xE0 && byte < 0xF0 ? 3 : byte >= 0xC2 && byte < 0xE0 ? 2 : 1;
}
bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Returns the number of bytes before a character at the end whose last bytes are missing.
size_t complete_length(const std::string& bytes) {
  for (size_t back = 1; back <= std::min<size_t>(bytes.size(), 3); ++back) {
    const char c = bytes[bytes.size() - back];
    if (is_continuation(c)) continue;
    return character_length(c) > back ? bytes.size() - back : bytes.size();
  }
  return bytes.size();
}

}  // namespace

void TextStreamer::put(int64_t id) {
  bytes_ += tokenizer_.decode({id}, skip_special_tokens_);
  pass_on(complete_length(bytes_));
}
void TextStreamer::end() { pass_on(bytes_.size()); }
void TextStreamer::pass_on(size_t count) {
  if (count == 0) return;
  on_text_(bytes_.substr(0, count));
  bytes_.erase(0, count);
}

}  // namespace tandem::text
