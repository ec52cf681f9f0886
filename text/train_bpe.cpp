// Implements the training of byte-level BPE: counts words, and merges the most frequent pair of tokens until the
// vocabulary is full. Counts of pairs are updated for each merge, and a heap finds the most frequent pair.
#include "tandem/text/train_bpe.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <queue>

#include "tandem/core/internal.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/text/byte_level.h"
#include "tandem/text/unicode.h"

namespace tandem::text {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;  // bytes of text that a thread counts at a time

/// Numbers of occurrences of words.
using WordCounts = std::unordered_map<std::string, int64_t>;

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// Counts the words of texts on several threads. Adds the counts of each text to one result.
class WordCounter {
 public:
  explicit WordCounter(bool add_prefix_space) : add_prefix_space_(add_prefix_space) {}

  /// Counts the words of `texts`, which are views into memory of the caller.
  void count(const std::vector<std::string_view>& texts) {
    std::vector<size_t> chunks{0};  // positions at which chunks of texts begin
    size_t bytes = 0;
    for (size_t i = 0; i < texts.size(); ++i) {
      bytes += texts[i].size();
      if (bytes < kChunkBytes && i + 1 < texts.size()) continue;
      chunks.push_back(i + 1);
      bytes = 0;
    }
    parallel_for(static_cast<int64_t>(chunks.size()) - 1, 1, [&](int64_t begin, int64_t end) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        Counts counts;
        for (size_t i = chunks[static_cast<size_t>(chunk)]; i < chunks[static_cast<size_t>(chunk) + 1]; ++i)
          count_text(texts[i], counts);
        const std::lock_guard lock(mutex_);
        for (const auto& [word, count] : counts) total_[word] += count;
      }
    });
  }
  const WordCounts& total() const { return total_; }

 private:
  using Counts = std::unordered_map<std::string, int64_t, StringHash, std::equal_to<>>;
  void count_text(std::string_view text, Counts& counts) const {
    std::string with_space;
    if (add_prefix_space_ && !text.empty() && text[0] != ' ') text = with_space.append(" ").append(text);
    for_each_word(text, [&](std::string_view word) {
      const auto found = counts.find(word);
      if (found != counts.end())
        ++found->second;
      else
        counts.emplace(word, 1);
    });
  }

  bool add_prefix_space_;
  std::mutex mutex_;
  WordCounts total_;
};

/// Merges pairs of tokens within words.
class BpeTrainer {
 public:
  BpeTrainer(const WordCounts& words, const BpeTrainerOptions& options) : options_(options) {
    for (const std::string& token : options.special_tokens()) {
      vocabulary_.added_tokens.push_back({.content = token, .id = static_cast<int64_t>(vocabulary_.tokens.size())});
      find_or_add_token(token);
    }
    std::array<std::pair<char32_t, size_t>, 256> alphabet;  // characters and their bytes, in the order of characters
    for (size_t byte = 0; byte < 256; ++byte) alphabet[byte] = {byte_characters()[byte], byte};
    std::sort(alphabet.begin(), alphabet.end());
    std::array<int32_t, 256> byte_ids{};
    for (const auto& [character, byte] : alphabet)
      byte_ids[byte] = find_or_add_token(bytes_to_token(std::string(1, static_cast<char>(byte))));
    for (const auto& [text, count] : words) {
      words_.push_back({symbols_.size(), text.size(), count});
      for (const char byte : text) symbols_.push_back(byte_ids[static_cast<unsigned char>(byte)]);
    }
  }

  BpeVocabulary train() {
    for (size_t i = 0; i < words_.size(); ++i) {
      const int32_t* const symbols = symbols_.data() + words_[i].begin;
      for (size_t k = 0; k + 1 < words_[i].size; ++k)
        count_pair(make_pair(symbols[k], symbols[k + 1]), words_[i].count, static_cast<uint32_t>(i));
    }
    push_new_pairs();
    while (static_cast<int64_t>(vocabulary_.tokens.size()) < options_.vocab_size() && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const int64_t count = pair_counts_[top.pair];
      if (top.count != count) {  // the count has changed since the pair was queued
        top.count = count;
        queue_.push(std::move(top));
        continue;
      }
      if (count < options_.min_frequency()) break;
      merge(top);
      push_new_pairs();
    }
    return std::move(vocabulary_);
  }

 private:
  using Pair = uint64_t;  // ID of the left token in the upper half, ID of the right token in the lower half
  struct Word {
    size_t begin, size;  // the word's tokens in symbols_
    int64_t count;
  };
  using WordList = std::vector<uint32_t>;
  struct Candidate {
    Pair pair;
    int64_t count;
    size_t words;  // index in word_lists_: the words that had the pair when it was queued
    /// The first candidate in the queue: the highest count, then the smallest IDs.
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  static Pair make_pair(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  int32_t find_or_add_token(const std::string& token) {
    const auto [at, added] = token_ids_.emplace(token, static_cast<int32_t>(vocabulary_.tokens.size()));
    if (added) vocabulary_.tokens.push_back(token);
    return at->second;
  }

  /// Adds to the count of a pair. If `count` is positive, the pair is new in the word.
  void count_pair(Pair pair, int64_t count, uint32_t word) {
    pair_counts_[pair] += count;
    if (count < 0) return;
    WordList& words = new_pairs_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  /// Moves pairs from new_pairs_ to the queue.
  void push_new_pairs() {
    for (auto& [pair, words] : new_pairs_) {
      const int64_t count = pair_counts_[pair];
      if (count <= 0) continue;
      word_lists_.push_back(std::move(words));
      queue_.push({pair, count, word_lists_.size() - 1});
    }
    new_pairs_.clear();
  }

  void merge(const Candidate& candidate) {
    const auto left = static_cast<int32_t>(candidate.pair >> 32), right = static_cast<int32_t>(candidate.pair);
    const std::string& left_token = vocabulary_.tokens[static_cast<size_t>(left)];
    const std::string& right_token = vocabulary_.tokens[static_cast<size_t>(right)];
    vocabulary_.merges.emplace_back(left_token, right_token);
    const int32_t merged = find_or_add_token(left_token + right_token);
    const WordList words = std::move(word_lists_[candidate.words]);
    for (const uint32_t word : words) merge_in_word(word, left, right, merged);
  }
  void merge_in_word(uint32_t index, int32_t left, int32_t right, int32_t merged) {
    Word& word = words_[index];
    int32_t* const symbols = symbols_.data() + word.begin;
    size_t to = 0;
    for (size_t from = 0; from < word.size; ++to) {
      if (from + 1 == word.size || symbols[from] != left || symbols[from + 1] != right) {
        symbols[to] = symbols[from++];
        continue;
      }
      symbols[to] = merged;
      from += 2;
      if (to > 0) {
        count_pair(make_pair(symbols[to - 1], left), -word.count, index);
        count_pair(make_pair(symbols[to - 1], merged), word.count, index);
      }
      if (from < word.size) {
        count_pair(make_pair(right, symbols[from]), -word.count, index);
        count_pair(make_pair(merged, symbols[from]), word.count, index);
      }
    }
    word.size = to;
  }

  const BpeTrainerOptions& options_;
  BpeVocabulary vocabulary_;
  std::unordered_map<std::string, int32_t> token_ids_;
  std::vector<int32_t> symbols_;  // the tokens of all words
  std::vector<Word> words_;
  std::unordered_map<Pair, int64_t> pair_counts_;
  std::unordered_map<Pair, WordList> new_pairs_;  // pairs to be queued, with the words that have them
  std::vector<WordList> word_lists_;
  std::priority_queue<Candidate> queue_;
};

void check_options(const BpeTrainerOptions& options) {
  require_unicode_support("train_bpe");
  const std::vector<std::string>& special = options.special_tokens();
  for (size_t i = 0; i < special.size(); ++i)
    TANDEM_CHECK(
        !special[i].empty() && std::find(special.begin(), special.begin() + i, special[i]) == special.begin() + i,
        "train_bpe: special token ", i, " is \"", special[i], "\"; accepted: tokens that differ, not empty");
  const int64_t least = static_cast<int64_t>(special.size()) + 256;
  TANDEM_CHECK(options.vocab_size() >= least && options.vocab_size() < std::numeric_limits<int32_t>::max(),
               "train_bpe: vocab_size is ", options.vocab_size(), "; accepted: ", least, ", for ", special.size(),
               " special tokens and 256 bytes, to 2^31 - 2");
  TANDEM_CHECK(options.min_frequency() >= 1, "train_bpe: min_frequency is ", options.min_frequency(),
               "; accepted: 1 or more");
}

GPT2Tokenizer train_on_words(const WordCounts& words, const BpeTrainerOptions& options) {
  GPT2TokenizerOptions tokenizer_options;
  tokenizer_options.add_prefix_space(options.add_prefix_space());
  return GPT2Tokenizer(BpeTrainer(words, options).train(), tokenizer_options, "train_bpe");
}

/// Splits a text into its lines. Each line contains the line feed that ends it.
std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

}  // namespace

GPT2Tokenizer train_bpe(const std::vector<std::string>& texts, const BpeTrainerOptions& options) {
  check_options(options);
  WordCounter counter(options.add_prefix_space());
  counter.count({texts.begin(), texts.end()});
  return train_on_words(counter.total(), options);
}

GPT2Tokenizer train_bpe_from_files(const std::vector<std::string>& files, const BpeTrainerOptions& options) {
  check_options(options);
  WordCounter counter(options.add_prefix_space());
  for (const std::string& file : files) {
    const std::string text = read_text_file("train_bpe", file);
    counter.count(split_lines(text));
  }
  return train_on_words(counter.total(), options);
}

}  // namespace tandem::text
