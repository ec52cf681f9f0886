// Encodes one text on several threads.
#include <algorithm>

#include "tandem/core/threads/thread_pool.h"
#include "tandem/text/gpt2_tokenizer.h"
#include "tandem/tools/tokenize/tokenize.h"

namespace tandem::tools::tokenize {
namespace {

constexpr size_t kPartBytes = size_t{1} << 18;

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Returns whether the text may be divided before a line feed that follows a visible ASCII character. GPT-2's words
/// never reach across such a place. Other tokenizers, and added tokens that may contain the line feed, are excluded.
bool can_be_divided(const text::Tokenizer& tokenizer) {
  const auto* const gpt2 = dynamic_cast<const text::GPT2Tokenizer*>(&tokenizer);
  if (!gpt2 || gpt2->options().add_prefix_space()) return false;
  const auto& tokens = gpt2->vocabulary().added_tokens;
  return std::none_of(tokens.begin(), tokens.end(), [](const text::AddedToken& token) {
    return token.lstrip || token.rstrip || token.content.find('\n') != std::string::npos;
  });
}

std::vector<std::string_view> divide(std::string_view text) {
  std::vector<std::string_view> parts;
  while (text.size() > kPartBytes) {
    size_t end = text.find('\n', kPartBytes);
    while (end != std::string_view::npos &&
           (is_space(text[end - 1]) || static_cast<unsigned char>(text[end - 1]) > 126))
      end = text.find('\n', end + 1);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  parts.push_back(text);
  return parts;
}

}  // namespace

std::vector<int64_t> encode_on_threads(const text::Tokenizer& tokenizer, std::string_view text) {
  if (!can_be_divided(tokenizer)) return tokenizer.tokenize_to_ids(text);
  const std::vector<std::string_view> parts = divide(text);
  std::vector<std::vector<int64_t>> ids(parts.size());
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ids[static_cast<size_t>(i)] = tokenizer.tokenize_to_ids(parts[static_cast<size_t>(i)]);
  });
  std::vector<int64_t> out;
  for (const std::vector<int64_t>& part : ids) out.insert(out.end(), part.begin(), part.end());
  return out;
}

}  // namespace tandem::tools::tokenize
