// Implements MergeTable: a repeated scan for short words, and a linked list with a heap for long words.
#include "tandem/text/merge_table.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"

namespace tandem::text::detail {
namespace {

constexpr uint64_t kUnused = std::numeric_limits<uint64_t>::max();
constexpr size_t kMaxShortWord =
    32;  // maximum number of tokens for the scan, which is faster than a heap for few tokens
constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

constexpr uint64_t make_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(size_t count) {
  const size_t size = std::bit_ceil(std::max<size_t>(2 * count, 2));
  shift_ = 64 - std::countr_zero(size);
  slots_.assign(size, {kUnused, {}});
}

inline size_t MergeTable::find_slot(uint64_t key) const {
  size_t at = static_cast<size_t>(key * 0x9E3779B97F4A7C15u >> shift_);  // 2^64 / golden ratio
  while (slots_[at].key != key && slots_[at].key != kUnused) at = (at + 1) & (slots_.size() - 1);
  return at;
}
void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = make_key(left, right);
  slots_[find_slot(key)] = {key, merge};
}
const MergeTable::Merge* MergeTable::find(int32_t left, int32_t right) const {
  const Slot& slot = slots_[find_slot(make_key(left, right))];
  return slot.key == kUnused ? nullptr : &slot.merge;
}

void MergeTable::apply(std::vector<int32_t>& word) const {
  if (word.size() < 2) return;
  if (word.size() <= kMaxShortWord)
    apply_to_short_word(word);
  else
    apply_to_long_word(word);
}

void MergeTable::apply_to_short_word(std::vector<int32_t>& word) const {
  Merge merges[kMaxShortWord];  // for each token, the merge with the token after it
  const auto find_merge = [&](size_t i) {
    const Merge* const found = find(word[i], word[i + 1]);
    merges[i] = found ? *found : Merge{kNoRank, 0};
  };
  size_t last = word.size() - 1;
  for (size_t i = 0; i < last; ++i) find_merge(i);
  while (last > 0) {
    const size_t at = static_cast<size_t>(
        std::min_element(merges, merges + last, [](const Merge& a, const Merge& b) { return a.rank < b.rank; }) -
        merges);
    if (merges[at].rank == kNoRank) break;
    word[at] = merges[at].id;
    for (size_t i = at + 1; i < last; ++i) {
      word[i] = word[i + 1];
      merges[i - 1] = merges[i];
    }
    --last;
    if (at > 0) find_merge(at - 1);
    if (at < last) find_merge(at);
  }
  word.resize(last + 1);
}

void MergeTable::apply_to_long_word(std::vector<int32_t>& word) const {
  TANDEM_CHECK(word.size() <= std::numeric_limits<uint32_t>::max(), "byte-level BPE: a word has ", word.size(),
               " bytes; accepted: less than 2^32");
  struct Neighbours {
    uint32_t previous, next;
  };
  const auto size = static_cast<uint32_t>(word.size());
  std::vector<Neighbours> neighbours(size);
  // Candidates: the rank in the upper half, the position of the left token in the lower half; the smallest first.
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue;
  const auto push = [&](uint32_t at, uint32_t next) {
    if (const Merge* const merge = find(word[at], word[next]))
      queue.push(uint64_t{static_cast<uint32_t>(merge->rank)} << 32 | at);
  };
  for (uint32_t i = 0; i < size; ++i) {
    neighbours[i] = {i - 1, i + 1};
    if (i + 1 < size) push(i, i + 1);
  }
  while (!queue.empty()) {
    const auto rank = static_cast<int32_t>(queue.top() >> 32);
    const auto at = static_cast<uint32_t>(queue.top());
    queue.pop();
    const uint32_t removed = neighbours[at].next;
    if (word[at] < 0 || removed == size) continue;
    const Merge* const merge = find(word[at], word[removed]);
    if (!merge || merge->rank != rank) continue;  // one of the two tokens has been merged since
    word[at] = merge->id;
    word[removed] = -1;
    const uint32_t next = neighbours[at].next = neighbours[removed].next;
    if (next < size) {
      neighbours[next].previous = at;
      push(at, next);
    }
    if (at > 0) push(neighbours[at].previous, at);
  }
  std::erase(word, -1);
}

}  // namespace tandem::text::detail
