// Builds a vocabulary from the merges in fixtures/bpe.json.
#pragma once
#include <algorithm>

#include "tandem/tests/json.h"
#include "tandem/text/bpe_vocabulary.h"
#include "tandem/text/byte_level.h"

namespace tandem::test {

/// Returns a vocabulary of the special tokens, the 256 bytes in the order of their characters, and the merged tokens.
inline text::BpeVocabulary bpe_vocabulary(const nlohmann::json& fixture, const char* merges) {
  text::BpeVocabulary out;
  for (const auto& token : fixture.at("special")) {
    out.added_tokens.push_back({.content = token, .id = static_cast<int64_t>(out.tokens.size())});
    out.tokens.push_back(token);
  }
  std::vector<std::pair<char32_t, char>> bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes.emplace_back(text::detail::byte_characters()[static_cast<size_t>(byte)], static_cast<char>(byte));
  std::sort(bytes.begin(), bytes.end());
  for (const auto& byte : bytes) out.tokens.push_back(text::detail::bytes_to_token(std::string(1, byte.second)));
  for (const auto& merge : fixture.at(merges)) {
    out.merges.emplace_back(merge[0], merge[1]);
    out.tokens.push_back(out.merges.back().first + out.merges.back().second);
  }
  return out;
}

}  // namespace tandem::test
