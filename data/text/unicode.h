// Unicode functions for tokenizers, implemented by utf8proc.
#pragma once
#include <string>
#include <string_view>

namespace tandem::data::detail {

enum class CharacterKind {
  other,
  control,          // categories Cc, Cf, Co and Cs: without width, or for private use; not tab and line ends
  space,            // Zs, Zl and Zp, tab and line ends
  punctuation,      // P*, and the ASCII symbols such as $ and +
  nonspacing_mark,  // Mn: accents, and other marks above, below or within a letter
};

/// @throws NotImplementedError  that names the library, in a build without it; `who` is the caller's name for the
/// message
void check_unicode(const char* who);
/// Returns the characters of UTF-8 text. Invalid bytes become U+FFFD, as in Python's decode("utf-8", "replace").
std::u32string decode_utf8(std::string_view text);
/// Appends a character as UTF-8.
void append_utf8(std::string& text, char32_t character);
CharacterKind kind_of(char32_t character);
/// Returns the lower-case form of a character: two characters for U+0130, whose dot is kept, else one.
std::u32string lower_case(char32_t character);
/// Returns normal form D: letters separate from their accents, with the marks of a letter in canonical order.
std::u32string decomposed(const std::u32string& text);

}  // namespace tandem::data::detail
