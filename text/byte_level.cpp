// Implements the splitting of text into GPT-2's words, and the table of characters that stand for bytes.
#include "tandem/text/byte_level.h"

#include "tandem/core/internal.h"
#include "tandem/text/unicode.h"

namespace tandem::text::detail {
namespace {

constexpr char32_t kLastByteCharacter = 0x143;  // the character that stands for byte 0xAD

constexpr WordClass get_ascii_class(unsigned char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return WordClass::letter;
  if (c >= '0' && c <= '9') return WordClass::number;
  if (c == ' ' || (c >= '\t' && c <= '\r')) return WordClass::space;
  return WordClass::other;
}
constexpr std::array<WordClass, 128> make_ascii_classes() {
  std::array<WordClass, 128> out{};
  for (size_t c = 0; c < out.size(); ++c) out[c] = get_ascii_class(static_cast<unsigned char>(c));
  return out;
}
constexpr std::array<WordClass, 128> kAsciiClasses = make_ascii_classes();

struct ClassifiedCharacter {
  WordClass word_class;
  size_t bytes;
};
inline ClassifiedCharacter classify(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {kAsciiClasses[byte], 1};
  const DecodedCharacter decoded = decode_character(text.substr(at));
  return {get_word_class(decoded.character), decoded.bytes};
}

/// Returns the length of 's, 't, 're, 've, 'm, 'll or 'd at the beginning of the text; 0 if there is none of them.
size_t contraction_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  switch (text[1]) {
    case 's':
    case 't':
    case 'm':
    case 'd': return 2;
    case 'r':
    case 'v': return text.size() > 2 && text[2] == 'e' ? 3 : 0;
    case 'l': return text.size() > 2 && text[2] == 'l' ? 3 : 0;
    default: return 0;
  }
}

}  // namespace

size_t first_word_length(std::string_view text) {
  if (const size_t length = contraction_length(text)) return length;
  size_t at = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  ClassifiedCharacter character = classify(text, at);
  if (character.word_class != WordClass::space) {
    const WordClass word_class = character.word_class;
    do at += character.bytes;
    while (at < text.size() && (character = classify(text, at)).word_class == word_class);
    return at;
  }
  // White space: leave the last character to the next word, unless it is the only one.
  size_t last = 0, end = at;
  do {
    last = end;
    end += character.bytes;
  } while (end < text.size() && (character = classify(text, end)).word_class == WordClass::space);
  return end == text.size() || last == 0 ? end : last;
}

const std::array<char32_t, 256>& byte_characters() {
  static const std::array<char32_t, 256> table = [] {
    std::array<char32_t, 256> out{};
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool visible = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      out[byte] = visible ? byte : next++;
    }
    return out;
  }();
  return table;
}

std::string bytes_to_token(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) append_utf8(out, byte_characters()[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> token_to_bytes(std::string_view token) {
  static const std::array<int, kLastByteCharacter + 1> table = [] {
    std::array<int, kLastByteCharacter + 1> out{};
    out.fill(-1);
    for (size_t byte = 0; byte < 256; ++byte) out[byte_characters()[byte]] = static_cast<int>(byte);
    return out;
  }();
  std::string out;
  while (!token.empty()) {
    const DecodedCharacter c = decode_character(token);
    if (c.character > kLastByteCharacter || table[c.character] < 0) return {};
    out.push_back(static_cast<char>(table[c.character]));
    token.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace tandem::text::detail
