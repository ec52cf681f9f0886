// Implements AddedTokenFinder: searches for added tokens from left to right.
#include "tandem/text/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/internal.h"
#include "tandem/text/unicode.h"

namespace tandem::text::detail {
namespace {

/// Returns the byte offset at which the last character of a text begins. The text is not empty.
size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}
char32_t decode_first(std::string_view text) { return decode_utf8(text.substr(0, 4)).front(); }
bool begins_with_word(std::string_view text) { return !text.empty() && is_word_character(decode_first(text)); }
bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word_character(decode_first(text.substr(last_character(text))));
}
/// Returns the size of a text without the white space at its end.
size_t size_without_trailing_space(std::string_view text) {
  while (!text.empty()) {
    const size_t at = last_character(text);
    if (!is_white_space(decode_first(text.substr(at)))) break;
    text = text.substr(0, at);
  }
  return text.size();
}
/// Returns the number of bytes of white space at the beginning of a text.
size_t count_leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const char32_t c = decode_first(text.substr(at));
    if (!is_white_space(c)) break;
    at += c < 0x80 ? 1 : c < 0x800 ? 2 : 3;  // all white space is below U+10000
  }
  return at;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.content.size() > b.content.size(); });
  for (const AddedToken& token : tokens_) is_first_byte_[static_cast<unsigned char>(token.content[0])] = true;
  if (std::count(is_first_byte_.begin(), is_first_byte_.end(), true) == 1)
    only_first_byte_ = static_cast<unsigned char>(tokens_[0].content[0]);
}

const AddedToken* AddedTokenFinder::find(std::string_view text, size_t from, size_t& at) const {
  for (at = from; at < text.size(); ++at) {
    if (only_first_byte_ >= 0) {
      const void* const found = std::memchr(text.data() + at, only_first_byte_, text.size() - at);
      if (!found) return nullptr;
      at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    } else if (!is_first_byte_[static_cast<unsigned char>(text[at])]) {
      continue;
    }
    const std::string_view rest = text.substr(at);
    for (const AddedToken& token : tokens_)
      if (rest.starts_with(token.content)) return &token;
  }
  return nullptr;
}

std::vector<AddedTokenFinder::Part> AddedTokenFinder::split(std::string_view text) const {
  std::vector<Part> out;
  size_t done = 0;  // end of the last part
  for (size_t at = 0, from = 0; !tokens_.empty(); from = at) {
    const AddedToken* const token = find(text, from, at);
    if (!token) break;
    size_t begin = at, end = at + token->content.size();
    at = end;
    if (token->single_word && (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
    // White space that belongs to the token before is left to it.
    if (token->lstrip) begin = std::max(size_without_trailing_space(text.substr(0, begin)), done);
    if (token->rstrip) end += count_leading_space(text.substr(end));
    if (done < begin) out.push_back({done, begin, nullptr});
    out.push_back({begin, end, token});
    done = end;
  }
  if (done < text.size()) out.push_back({done, text.size(), nullptr});
  return out;
}

}  // namespace tandem::text::detail
