// ExactTokenFinder: finds added tokens, such as <|endoftext|>, in a text.
#pragma once
#include <array>
#include <string_view>
#include <vector>

#include "tandem/text/bpe_vocabulary.h"

namespace tandem::text::detail {

class ExactTokenFinder {
 public:
  /// A token in a text, from byte `begin` to byte `end`.
  struct Match {
    size_t begin, end;
    int64_t id;
  };

  explicit ExactTokenFinder(std::vector<AddedToken> tokens);
  /// Returns the first token that begins at byte `from` or later; if several begin there, the longest. Includes the
  /// white space that the token strips, but no byte before `from`. Returns nullopt if there is no token.
  std::optional<Match> find(std::string_view text, size_t from) const;

  /// Calls on_token(id) for each token in the text, and on_text(part) for each part between tokens that is not empty.
  template <class OnText, class OnToken> void split(std::string_view text, OnText&& on_text, OnToken&& on_token) const {
    size_t from = 0;
    while (const std::optional<Match> match = find(text, from)) {
      if (match->begin > from) on_text(text.substr(from, match->begin - from));
      on_token(match->id);
      from = match->end;
    }
    if (from < text.size()) on_text(text.substr(from));
  }

 private:
  std::vector<AddedToken> tokens_;       // the longest first
  std::array<bool, 256> first_bytes_{};  // whether a token begins with a byte
};

}  // namespace tandem::text::detail
