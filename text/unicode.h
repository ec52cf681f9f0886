// Unicode functions for tokenizers, implemented by utf8proc.
#pragma once
#include <string>
#include <string_view>

namespace tandem::text::detail {

enum class CharacterKind {
  other,
  control,          // general categories Cc, Cf, Co and Cs, except tab and line ends
  space,            // general categories Zs, Zl and Zp, tab and line ends
  punctuation,      // general categories P*, and ASCII symbols such as $ and +
  nonspacing_mark,  // general category Mn: accents and other combining marks
};

/// Classes of characters in the pattern by which GPT-2 splits texts into words.
enum class WordClass : unsigned char {
  other,
  letter,  // general categories L*
  number,  // general categories N*
  space,   // Unicode's property White_Space
};

/// A character and its number of bytes in UTF-8.
struct DecodedCharacter {
  char32_t character;
  size_t bytes;
};

/// @throws NotImplementedError that names the library, in a build without it; `who` is the caller's name, for the
///     message
void require_unicode_support(const char* who);
/// Returns the characters of UTF-8 text. Invalid bytes become U+FFFD, as in Python's decode("utf-8", "replace"): one
/// for each longest part that begins a valid character.
std::u32string decode_utf8(std::string_view text);
/// Returns the first character of UTF-8 text, which must not be empty. If the bytes are not UTF-8, returns U+FFFD for
/// one byte.
DecodedCharacter decode_character(std::string_view text);
/// Appends the characters of UTF-8 text to `out`, as decode_utf8().
void decode_utf8(std::string_view text, std::u32string& out);
/// Appends a character as UTF-8.
void append_utf8(std::string& text, char32_t character);
CharacterKind get_character_kind(char32_t character);
WordClass get_word_class(char32_t character);
/// Returns whether a character has Unicode's property White_Space.
bool is_white_space(char32_t character);
/// Returns whether a character is a letter, mark, decimal digit or connector such as "_": \w of regular expressions.
bool is_word_character(char32_t character);
/// Returns the lower-case form of a character: "i" and a combining dot for U+0130, else one character.
std::u32string to_lower(char32_t character);
/// Returns the text in Unicode normal form D: each accented letter becomes a letter and its combining marks, in
/// canonical order.
std::u32string normalize_nfd(const std::u32string& text);

}  // namespace tandem::text::detail
