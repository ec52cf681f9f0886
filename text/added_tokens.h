// Added tokens: tokens that are found in a text before it is split into words, such as "[MASK]".
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::text {

/// A token that is found in texts before they are split into words, with the flags of tokenizer.json.
struct AddedToken {
  std::string content;       // the token as it is in texts
  int64_t id = 0;            // number of the token
  bool special = true;       // left out by decode() with skip_special_tokens
  bool normalized = false;   // found in the normalized text; otherwise in the original text
  bool lstrip = false;       // includes the white space before it
  bool rstrip = false;       // includes the white space after it
  bool single_word = false;  // found only if no letter, digit or underscore is beside it
};

namespace detail {

/// Finds added tokens in texts. Of tokens that begin at one position, the longest is found.
class AddedTokenFinder {
 public:
  /// A part of a text: an added token, or the text between two.
  struct Part {
    size_t begin, end;        // byte offsets
    const AddedToken* token;  // null for text
  };
  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<AddedToken> tokens);
  bool empty() const { return tokens_.empty(); }
  /// Returns the parts of a text in order. They cover the text, except empty parts. Valid as long as this object lives.
  std::vector<Part> split(std::string_view text) const;

 private:
  const AddedToken* find(std::string_view text, size_t from, size_t& at) const;
  std::vector<AddedToken> tokens_;         // longest first
  std::array<bool, 256> is_first_byte_{};  // whether a token begins with the byte
  int only_first_byte_ = -1;               // the first byte of all tokens; -1 if they differ
};

}  // namespace detail
}  // namespace tandem::text
