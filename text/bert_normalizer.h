// BertNormalizer: cleans text and splits it into words, as BERT's tokenizers do.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "tandem/text/unicode.h"

namespace tandem::text::detail {

/// Cleans text before it is split into words.
class BertNormalizer {
 public:
  BertNormalizer() = default;
  /// @param clean_text            drops control characters, and replaces white space by U+0020
  /// @param handle_chinese_chars  puts spaces around Chinese characters
  /// @param strip_accents         decomposes letters with accents, and drops the accents
  /// @param lowercase             converts letters to lower case
  BertNormalizer(bool clean_text, bool handle_chinese_chars, bool strip_accents, bool lowercase);
  /// Appends the normalized text. Bytes that are not UTF-8 become U+FFFD, which clean_text drops.
  void append_normalized(std::string_view text, std::string& out) const;

 private:
  void append_characters(std::u32string& characters, std::string& out) const;
  static constexpr unsigned char kDropped = 0xFF;
  std::array<unsigned char, 128> ascii_{};  // replacement of each ASCII character, or kDropped
  bool clean_text_ = false, handle_chinese_chars_ = false, strip_accents_ = false, lowercase_ = false;
};

/// Splits normalized text into words: at white space, which is dropped, and around each punctuation character.
class WordSplitter {
 public:
  explicit WordSplitter(std::string_view text) : text_(text) {}
  /// Returns the next word; an empty string at the end.
  std::string_view next();

 private:
  CharacterKind read_character(size_t& size) const;
  std::string_view text_;
};

}  // namespace tandem::text::detail
