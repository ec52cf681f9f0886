// MergeTable: the merges of byte-pair encoding, and the algorithm that applies them to a word.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem::text::detail {

/// Hash table of merges by the IDs of their two tokens. A merge replaces two adjacent tokens by one. Merges of lower
/// rank are applied first.
class MergeTable {
 public:
  struct Merge {
    int32_t rank;  // position in the list of merges
    int32_t id;    // ID of the token that replaces the pair
  };

  /// @param count  maximum number of merges that are added
  explicit MergeTable(size_t count = 0);
  /// Adds a merge of two tokens, or replaces the merge of these tokens.
  void add(int32_t left, int32_t right, Merge merge);
  /// Returns the merge of two tokens; nullptr if they are not merged.
  const Merge* find(int32_t left, int32_t right) const;
  /// Applies merges to the tokens of a word until no two adjacent tokens can be merged. Each step applies the merge of
  /// lowest rank, at its first position. Takes O(n log n) time for n tokens.
  void apply(std::vector<int32_t>& word) const;

 private:
  struct Slot {
    uint64_t key;
    Merge merge;
  };
  size_t find_slot(uint64_t key) const;
  void apply_to_short_word(std::vector<int32_t>& word) const;
  void apply_to_long_word(std::vector<int32_t>& word) const;
  std::vector<Slot> slots_;  // at most half of them are used
  int shift_ = 64;           // the hash is the product's upper 64 - shift_ bits
};

}  // namespace tandem::text::detail
