// Implements the functions of unicode.h by utf8proc: decoding, character classes, lower case and decomposition.
#include "tandem/text/unicode.h"

#include "tandem/core/error.h"
#include "tandem/core/internal.h"

namespace tandem::text::detail {

std::u32string decode_utf8(std::string_view text) {
  std::u32string out;
  out.reserve(text.size());
  decode_utf8(text, out);
  return out;
}
void decode_utf8(std::string_view text, std::u32string& out) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at++]);
    if (first < 0x80) {
      out.push_back(first);
      continue;
    }
    size_t left = 0;  // continuation bytes still to come
    char32_t character = 0;
    unsigned char least = 0x80, most = 0xBF;  // accepted values of the next byte
    if (first >= 0xC2 && first <= 0xDF) {
      left = 1, character = first & 0x1F;
    } else if (first >= 0xE0 && first <= 0xEF) {
      left = 2, character = first & 0x0F;
      if (first == 0xE0) least = 0xA0;  // not a longer form of a shorter character
      if (first == 0xED) most = 0x9F;   // not a surrogate
    } else if (first >= 0xF0 && first <= 0xF4) {
      left = 3, character = first & 0x07;
      if (first == 0xF0) least = 0x90;
      if (first == 0xF4) most = 0x8F;  // at most U+10FFFF
    } else {
      out.push_back(U'\ufffd');
      continue;
    }
    for (; left > 0 && at < text.size(); --left, ++at, least = 0x80, most = 0xBF) {
      const auto next = static_cast<unsigned char>(text[at]);
      if (next < least || next > most) break;
      character = (character << 6) | (next & 0x3F);
    }
    out.push_back(left == 0 ? character : U'\ufffd');
  }
}
bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace tandem::text::detail

#if TANDEM_HAS_UTF8PROC
#include <utf8proc.h>

#include <algorithm>

namespace tandem::text::detail {
namespace {
constexpr bool is_ascii(char32_t c) { return c < 0x80; }
const utf8proc_property_t& get_utf8proc_property(char32_t c) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
}
}  // namespace

void require_unicode_support(const char*) {}

DecodedCharacter decode_character(std::string_view text) {
  utf8proc_int32_t character = 0;
  const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                  static_cast<utf8proc_ssize_t>(text.size()), &character);
  if (bytes <= 0) return {U'\ufffd', 1};
  return {static_cast<char32_t>(character), static_cast<size_t>(bytes)};
}
void append_utf8(std::string& text, char32_t character) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(character), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<size_t>(count));
}

CharacterKind get_character_kind(char32_t c) {
  using Kind = CharacterKind;
  if (c == '\t' || c == '\n' || c == '\r') return Kind::space;
  switch (static_cast<utf8proc_category_t>(get_utf8proc_property(c).category)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO: return Kind::control;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return Kind::space;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO: return Kind::punctuation;
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SM: return is_ascii(c) ? Kind::punctuation : Kind::other;
    case UTF8PROC_CATEGORY_MN: return Kind::nonspacing_mark;
    default: return Kind::other;
  }
}

WordClass get_word_class(char32_t c) {
  if ((c >= '\t' && c <= '\r') || c == U'\u0085') return WordClass::space;
  switch (static_cast<utf8proc_category_t>(get_utf8proc_property(c).category)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return WordClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return WordClass::number;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP: return WordClass::space;
    default: return WordClass::other;
  }
}

bool is_word_character(char32_t c) {
  if (c == 0x200C || c == 0x200D) return true;                                      // joiners
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149)) return true;  // letters in circles and squares
  if ((c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189)) return true;
  switch (static_cast<utf8proc_category_t>(get_utf8proc_property(c).category)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return true;
    default: return false;
  }
}

std::u32string to_lower(char32_t c) {
  if (c == U'\u0130') return U"i\u0307";
  return {static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)))};
}

std::u32string normalize_nfd(const std::u32string& text) {
  if (std::all_of(text.begin(), text.end(), is_ascii)) return text;
  std::u32string out;
  out.reserve(text.size());
  for (const char32_t c : text) {
    utf8proc_int32_t parts[32];  // more than enough: a character decomposes into at most 4
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts, 32, UTF8PROC_DECOMPOSE, nullptr);
    for (utf8proc_ssize_t i = 0; i < count; ++i) out.push_back(static_cast<char32_t>(parts[i]));
  }
  // Canonical order: sort the marks of each letter by combining class; marks of equal class keep their order.
  const auto is_mark = [](char32_t c) { return get_utf8proc_property(c).combining_class != 0; };
  for (auto at = std::find_if(out.begin(), out.end(), is_mark); at != out.end();) {
    const auto end = std::find_if_not(at, out.end(), is_mark);
    std::stable_sort(at, end, [](char32_t a, char32_t b) {
      return get_utf8proc_property(a).combining_class < get_utf8proc_property(b).combining_class;
    });
    at = std::find_if(end, out.end(), is_mark);
  }
  return out;
}

}  // namespace tandem::text::detail
#else
namespace tandem::text::detail {

void require_unicode_support(const char* who) {
  throw_error<NotImplementedError>(__FILE__, __LINE__, who,
                                   ": Tandem was built without utf8proc, its library for Unicode; ",
                                   "on Debian, run `apt install libutf8proc-dev` and rebuild");
}
// The functions below are never called: callers call require_unicode_support first, which throws.
DecodedCharacter decode_character(std::string_view) { return {}; }
void append_utf8(std::string&, char32_t) {}
CharacterKind get_character_kind(char32_t) { return CharacterKind::other; }
WordClass get_word_class(char32_t) { return WordClass::other; }
bool is_word_character(char32_t) { return false; }
std::u32string to_lower(char32_t) { return {}; }
std::u32string normalize_nfd(const std::u32string&) { return {}; }

}  // namespace tandem::text::detail
#endif
