// `tandem tokenize`: trains a tokenizer, encodes text files as a token file, and shows the tokens of a text.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/text/tokenizer.h"

namespace tandem::tools::tokenize {

/// The options of `tandem tokenize`.
struct Settings {
  bool train = false;
  std::vector<std::string> files;  // to train on, or to encode
  int64_t vocab_size = 8192, min_frequency = 2;
  std::vector<std::string> special_tokens = {"<|endoftext|>"};
  std::string tokenizer;      // folder of the tokenizer, or its tokenizer.json
  std::string output;         // folder of the trained tokenizer, or token file
  std::vector<double> split;  // shares of the training, validation and test data; empty: one file
  bool end_of_text = false;
  std::string text;          // text to show the tokens of
  bool has_text = false;     // whether `text` was given; it may be empty
  std::vector<int64_t> ids;  // token numbers to decode
};

/// Trains and saves a tokenizer, encodes files, shows the tokens of settings.text, or decodes settings.ids.
void tokenize(const Settings& settings);

/// Encodes a text on several threads. Returns the same numbers as tokenizer.tokenize_to_ids(text).
std::vector<int64_t> encode_on_threads(const text::Tokenizer& tokenizer, std::string_view text);
/// Returns the paths of the files into which --split divides a token file: tokens_train.bin, tokens_val.bin and
/// tokens_test.bin for tokens.bin.
std::vector<std::string> split_paths(const std::string& output, size_t count);

}  // namespace tandem::tools::tokenize
