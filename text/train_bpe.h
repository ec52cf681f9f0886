// Trains byte-level BPE: finds the tokens and merges of GPT2Tokenizer for a collection of texts.
#pragma once
#include "tandem/text/gpt2_tokenizer.h"

namespace tandem::text {

/// Options of train_bpe, with the names of Hugging Face's BpeTrainer.
struct BpeTrainerOptions {
  /// Number of tokens, including the special tokens and the 256 bytes. If no pair of tokens occurs min_frequency
  /// times, the vocabulary is smaller.
  TANDEM_ARG(int64_t, vocab_size) = 30000;
  /// Number of times that a pair of tokens must occur to be merged.
  TANDEM_ARG(int64_t, min_frequency) = 2;
  /// Special tokens, whose IDs are 0, 1, ... . <|endoftext|> becomes the tokenizer's eos_token.
  TANDEM_ARG(std::vector<std::string>, special_tokens) = {"<|endoftext|>"};
  TANDEM_ARG(bool, add_prefix_space) = false;
};

/// Trains byte-level BPE (Sennrich et al. 2016, arXiv:1508.07909) on texts: merges the most frequent pair of tokens
/// within words, again and again. Equal to Hugging Face's BpeTrainer with the pre-tokenizer ByteLevel and its alphabet;
/// among pairs that are equally frequent, it merges the one with the smallest IDs. Special tokens in the texts are
/// treated as ordinary text. Counts words on several threads.
/// @throws Error for a vocab_size without room for the special tokens and the 256 bytes, a min_frequency below 1, and
///     special tokens that are empty or equal
GPT2Tokenizer train_bpe(const std::vector<std::string>& texts, const BpeTrainerOptions& options = {});
/// Trains byte-level BPE on text files. Each line, with the characters that end it, is a text.
/// @throws Error also for a file that cannot be read
GPT2Tokenizer train_bpe_from_files(const std::vector<std::string>& files, const BpeTrainerOptions& options = {});

}  // namespace tandem::text
