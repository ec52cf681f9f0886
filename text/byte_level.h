// Splits text into words as GPT-2 does, and writes bytes as printable characters, as vocabularies of byte-level BPE do.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::text::detail {

/// Returns the number of bytes of the first word of a text, which must not be empty. A word is a contraction such as
/// "'re"; or letters, numbers or other characters, after one space at most; or white space up to the space that belongs
/// to the next word. A byte that is not UTF-8 counts as an other character.
size_t first_word_length(std::string_view text);

/// Calls f(word) for each word of a text, in order. The words cover the text.
template <class F> void for_each_word(std::string_view text, F&& f) {
  while (!text.empty()) {
    const size_t length = first_word_length(text);
    f(text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// Characters that stand for the 256 bytes in a vocabulary. Visible characters of Latin-1 stand for their own byte; the
/// other bytes, in increasing order, have U+0100 and the characters after it. A space is U+0120, for example.
const std::array<char32_t, 256>& byte_characters();
/// Returns the text that stands for bytes in a vocabulary.
std::string bytes_to_token(std::string_view bytes);
/// Returns the bytes that a token of a vocabulary stands for; nullopt if one of its characters stands for no byte.
std::optional<std::string> token_to_bytes(std::string_view token);

}  // namespace tandem::text::detail
