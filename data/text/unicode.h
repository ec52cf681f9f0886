// What a tokenizer asks of Unicode, through utf8proc.
#pragma once
#include <string>
#include <string_view>

namespace tandem::data::detail {

enum class CharacterKind {
  other,
  control,          // categories Cc, Cf, Co and Cs: of no width, or private; not tab and line ends
  space,            // Zs, Zl and Zp, tab and line ends
  punctuation,      // P*, and the signs of ASCII such as $ and +
  nonspacing_mark,  // Mn: accents, and what else stands above, below or within a letter
};

/// @throws NotImplementedError  naming the library, in a build without it; `who` is what asks
void check_unicode(const char* who);
/// The characters of UTF-8 text. Bytes that are none come as U+FFFD, as Python's decode("utf-8", "replace") has it.
std::u32string decode_utf8(std::string_view text);
/// Appends a character as UTF-8.
void append_utf8(std::string& text, char32_t character);
CharacterKind kind_of(char32_t character);
/// The lower-case form of one character: two characters for U+0130, which keeps its dot, and one for all others.
std::u32string lower_case(char32_t character);
/// Normal form D: letters apart from their accents, marks of one letter in the order that the standard says.
std::u32string decomposed(const std::u32string& text);

}  // namespace tandem::data::detail
