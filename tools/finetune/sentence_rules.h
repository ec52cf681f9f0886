// Generates sentence pairs in the form of MultiNLI, whose label follows from rules about quantities, containment and
// negation, so that `tandem finetune` has something to learn without a download.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::tools::finetune {

/// A premise, a hypothesis, and whether the hypothesis follows.
struct SentencePair {
  std::string premise, hypothesis;
  std::string label;  // "entailment": it follows; "contradiction": it cannot be true; "neutral": neither
  std::string rule;   // the rule that made the pair, written as MultiNLI's genre
};

/// Returns `count` different pairs, the same for a seed on all machines. Each label has about a third of them.
std::vector<SentencePair> make_sentence_pairs(size_t count, uint64_t seed);
/// Writes pairs in MultiNLI's form, JSON Lines. @throws Error if the file cannot be written
void write_multinli(const std::string& path, const std::vector<SentencePair>& pairs);
/// Returns all words of the sentences, in lower case, sorted: a vocabulary for a small model.
std::vector<std::string> sentence_words();

}  // namespace tandem::tools::finetune
