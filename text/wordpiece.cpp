// Implements StringTable and WordPiece.
#include "tandem/text/wordpiece.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/error.h"

namespace tandem::text::detail {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

uint64_t read_bytes(const char* from, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, from, count);
  return value;
}
/// Mixes eight bytes at a time by multiplication. The table uses the low bits, so the high ones are mixed in.
uint32_t hash_bytes(std::string_view key) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
  uint64_t hash = key.size() * kFactor;
  const char* at = key.data();
  size_t left = key.size();
  for (; left >= 8; left -= 8, at += 8) {
    hash = (hash ^ read_bytes(at, 8)) * kFactor;
    hash ^= hash >> 32;
  }
  uint64_t tail = 0;
  if (left >= 4)  // the two halves overlap
    tail = read_bytes(at, 4) | read_bytes(at + left - 4, 4) << 32;
  else if (left > 0)
    tail = static_cast<unsigned char>(at[0]) | uint64_t(static_cast<unsigned char>(at[left / 2])) << 8 |
           uint64_t(static_cast<unsigned char>(at[left - 1])) << 16;
  hash = (hash ^ tail) * kFactor;
  return static_cast<uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

size_t StringTable::find_slot(std::string_view key, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    const Slot& slot = slots_[i];
    if (slot.value < 0) return i;
    if (slot.hash == hash && slot.size == key.size() &&
        std::memcmp(bytes_.data() + slot.begin, key.data(), key.size()) == 0)
      return i;
  }
}

void StringTable::insert(std::string_view key, int32_t value) {
  if (2 * (used_ + 1) > slots_.size()) grow();
  const uint32_t hash = hash_bytes(key);
  Slot& slot = slots_[find_slot(key, hash)];
  if (slot.value < 0) {
    TANDEM_CHECK(bytes_.size() + key.size() <= UINT32_MAX, "the vocabulary has more than 4 GiB of text");
    slot = {hash, static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(key.size()), value};
    bytes_ += key;
    ++used_;
  }
  slot.value = value;
}

int32_t StringTable::find(std::string_view key) const { return slots_[find_slot(key, hash_bytes(key))].value; }

void StringTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.value >= 0) slots_[find_slot(std::string_view(bytes_).substr(slot.begin, slot.size), slot.hash)] = slot;
}

WordPiece::WordPiece(const std::vector<std::string>& tokens, const std::string& prefix, int64_t unk_id,
                     int64_t max_chars)
    : max_chars_(static_cast<size_t>(max_chars)), unk_id_(unk_id) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    initial_.insert(tokens[i], id);
    if (tokens[i].starts_with(prefix) && tokens[i].size() > prefix.size())
      within_.insert(std::string_view(tokens[i]).substr(prefix.size()), id);
    max_piece_bytes_ = std::max(max_piece_bytes_, tokens[i].size());
  }
}

void WordPiece::tokenize(std::string_view word, std::vector<int64_t>& ids) const {
  // A word of no more bytes than max_chars_ has no more characters.
  if (word.size() > max_chars_) {
    const auto continuations = static_cast<size_t>(std::count_if(word.begin(), word.end(), is_continuation));
    if (word.size() - continuations > max_chars_) return ids.push_back(unk_id_);
  }
  const size_t before = ids.size();
  const StringTable* pieces = &initial_;
  while (!word.empty()) {
    int32_t id = -1;
    size_t size = std::min(word.size(), max_piece_bytes_);
    for (; size > 0; --size) {
      if (size < word.size() && is_continuation(word[size])) continue;  // inside a character
      id = pieces->find(word.substr(0, size));
      if (id >= 0) break;
    }
    if (id < 0) {  // no piece matches, so the whole word becomes [UNK]
      ids.resize(before);
      return ids.push_back(unk_id_);
    }
    ids.push_back(id);
    word.remove_prefix(size);
    pieces = &within_;
  }
}

}  // namespace tandem::text::detail
