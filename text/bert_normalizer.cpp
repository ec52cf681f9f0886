// Implements BertNormalizer and WordSplitter, with tables for ASCII.
#include "tandem/text/bert_normalizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tandem/core/internal.h"

namespace tandem::text::detail {
namespace {

bool is_ascii_byte(char byte) { return static_cast<unsigned char>(byte) < 0x80; }

/// Returns the number of ASCII characters that the text begins with.
size_t count_ascii(std::string_view text) {
  size_t at = 0;
  for (uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if (word & 0x8080808080808080) break;
  }
  while (at < text.size() && is_ascii_byte(text[at])) ++at;
  return at;
}

/// Returns whether c is in a block of CJK ideographs, as defined by BERT's tokenizer: without Hangul, Hiragana and
/// Katakana, whose scripts have spaces. The 256 characters from U+2B820 on are left out because Hugging Face leaves
/// them out.
bool is_chinese_char(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

CharacterKind classify(char32_t c) {
  if (is_white_space(c)) return CharacterKind::space;
  return get_character_kind(c) == CharacterKind::punctuation ? CharacterKind::punctuation : CharacterKind::other;
}
std::array<CharacterKind, 128> make_ascii_kinds() {
  std::array<CharacterKind, 128> kinds{};
  for (size_t c = 0; c < kinds.size(); ++c) kinds[c] = classify(static_cast<char32_t>(c));
  return kinds;
}
const std::array<CharacterKind, 128>& ascii_kinds() {
  static const auto kinds = make_ascii_kinds();
  return kinds;
}

}  // namespace

BertNormalizer::BertNormalizer(bool clean_text, bool handle_chinese_chars, bool strip_accents, bool lowercase)
    : clean_text_(clean_text),
      handle_chinese_chars_(handle_chinese_chars),
      strip_accents_(strip_accents),
      lowercase_(lowercase) {
  for (size_t i = 0; i < ascii_.size(); ++i) {
    const auto c = static_cast<unsigned char>(i);
    ascii_[i] = lowercase && c >= 'A' && c <= 'Z' ? static_cast<unsigned char>(c - 'A' + 'a') : c;
    if (!clean_text) continue;
    if (get_character_kind(c) == CharacterKind::control) ascii_[i] = kDropped;
    if (get_character_kind(c) == CharacterKind::space) ascii_[i] = ' ';
  }
}

void BertNormalizer::append_normalized(std::string_view text, std::string& out) const {
  std::u32string characters;
  for (size_t at = 0; at < text.size();) {
    const size_t written = out.size(), count = count_ascii(text.substr(at));
    out.resize(written + count);
    char* to = out.data() + written;
    for (const char byte : text.substr(at, count)) {
      const unsigned char c = ascii_[static_cast<unsigned char>(byte)];
      *to = static_cast<char>(c);
      to += c != kDropped;
    }
    out.resize(static_cast<size_t>(to - out.data()));
    at += count;
    // ASCII characters neither combine nor change order, so each run of other characters is normalized alone.
    const size_t begin = at;
    while (at < text.size() && !is_ascii_byte(text[at])) ++at;
    if (at == begin) continue;
    characters.clear();
    decode_utf8(text.substr(begin, at - begin), characters);
    append_characters(characters, out);
  }
}

void BertNormalizer::append_characters(std::u32string& characters, std::string& out) const {
  if (clean_text_) {
    std::erase_if(characters,
                  [](char32_t c) { return c == U'\ufffd' || get_character_kind(c) == CharacterKind::control; });
    for (char32_t& c : characters)
      if (is_white_space(c)) c = U' ';
  }
  if (handle_chinese_chars_ && std::any_of(characters.begin(), characters.end(), is_chinese_char)) {
    std::u32string spaced;
    for (const char32_t c : characters) {
      if (is_chinese_char(c))
        spaced.append({U' ', c, U' '});
      else
        spaced.push_back(c);
    }
    characters.swap(spaced);
  }
  if (strip_accents_) {
    characters = normalize_nfd(characters);
    std::erase_if(characters, [](char32_t c) { return get_character_kind(c) == CharacterKind::nonspacing_mark; });
  }
  for (const char32_t c : characters) {
    if (!lowercase_) {
      append_utf8(out, c);
      continue;
    }
    for (const char32_t lower : to_lower(c)) append_utf8(out, lower);
  }
}

CharacterKind WordSplitter::read_character(size_t& size) const {
  const auto first = static_cast<unsigned char>(text_[size]);
  if (first < 0x80) {
    ++size;
    return ascii_kinds()[first];
  }
  // Normalized text is valid UTF-8.
  const size_t bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t character = first & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i)
    character = (character << 6) | (static_cast<unsigned char>(text_[size + i]) & 0x3F);
  size += bytes;
  return classify(character);
}

std::string_view WordSplitter::next() {
  size_t begin = 0, at = 0;
  while (at < text_.size()) {
    size_t end = at;
    const CharacterKind kind = read_character(end);
    if (kind == CharacterKind::other) {
      at = end;
      continue;
    }
    if (at > begin) break;  // the end of a word; this character is read again by the next call
    at = end;
    if (kind == CharacterKind::punctuation) break;
    begin = at;
  }
  const std::string_view word = text_.substr(begin, at - begin);
  text_.remove_prefix(at);
  return word;
}

}  // namespace tandem::text::detail
