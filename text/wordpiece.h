// WordPiece: splits words into the longest pieces that a vocabulary has, by a hash table.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::text::detail {

/// A hash table from strings to numbers, with open addressing. It keeps the strings' bytes in one block.
class StringTable {
 public:
  /// Sets the number of a string. A number that the string had before is replaced.
  void insert(std::string_view key, int32_t value);
  /// Returns the number of a string; -1 if it is not in the table.
  int32_t find(std::string_view key) const;

 private:
  struct Slot {
    uint32_t hash = 0, begin = 0, size = 0;
    int32_t value = -1;  // -1: empty
  };
  size_t find_slot(std::string_view key, uint32_t hash) const;
  void grow();
  std::vector<Slot> slots_ = std::vector<Slot>(16);
  size_t used_ = 0;
  std::string bytes_;
};

/// Splits words into the pieces of a vocabulary: takes the longest piece that begins the word, then the longest that
/// begins the rest, and so on.
class WordPiece {
 public:
  WordPiece() = default;
  /// @param prefix     marks pieces within a word, "##" for BERT
  /// @param unk_id     number of the token for words that cannot be split
  /// @param max_chars  maximum number of characters of a word; longer words become unk_id
  WordPiece(const std::vector<std::string>& tokens, const std::string& prefix, int64_t unk_id, int64_t max_chars);
  /// Appends the pieces of a word, which is UTF-8 text without white space.
  void tokenize(std::string_view word, std::vector<int64_t>& ids) const;
  void set_unk_id(int64_t id) { unk_id_ = id; }
  /// Returns the number of a token; -1 if it is not in the vocabulary.
  int32_t find(std::string_view token) const { return initial_.find(token); }

 private:
  StringTable initial_, within_;                // all tokens; pieces within a word, without their prefix
  size_t max_piece_bytes_ = 0, max_chars_ = 0;  // max_chars_: of a word
  int64_t unk_id_ = 0;
};

}  // namespace tandem::text::detail
