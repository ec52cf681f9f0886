// Implements ExactTokenFinder.
#include "tandem/text/added_token_finder.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/text/unicode.h"

namespace tandem::text::detail {
namespace {

/// Returns the end of the white space that begins at byte `at`.
size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    const DecodedCharacter c = decode_character(text.substr(at));
    if (get_word_class(c.character) != WordClass::space) break;
    at += c.bytes;
  }
  return at;
}
/// Returns the beginning of the white space that ends at byte `end`; at least `from`.
size_t skip_space_before(std::string_view text, size_t end, size_t from) {
  while (end > from) {
    size_t at = end - 1;
    while (at > from && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;  // the middle of a character
    const DecodedCharacter c = decode_character(text.substr(at));
    if (at + c.bytes != end || get_word_class(c.character) != WordClass::space) break;
    end = at;
  }
  return end;
}

}  // namespace

ExactTokenFinder::ExactTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
  for (const AddedToken& token : tokens_) first_bytes_[static_cast<unsigned char>(token.content[0])] = true;
}

std::optional<ExactTokenFinder::Match> ExactTokenFinder::find(std::string_view text, size_t from) const {
  if (tokens_.empty()) return {};
  for (size_t at = from; at < text.size(); ++at) {
    if (!first_bytes_[static_cast<unsigned char>(text[at])]) continue;
    for (const AddedToken& token : tokens_) {
      if (text.compare(at, token.content.size(), token.content) != 0) continue;
      const size_t end = at + token.content.size();
      return Match{token.lstrip ? skip_space_before(text, at, from) : at, token.rstrip ? skip_space(text, end) : end,
                   token.id};
    }
  }
  return {};
}

}  // namespace tandem::text::detail
