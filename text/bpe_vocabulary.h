// BpeVocabulary: the tokens and merges of byte-level BPE, as stored in files, and the functions that read and write
// these files. Only bpe_vocabulary.cpp compiles the JSON parser.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/text/added_tokens.h"

namespace tandem::text {

/// Tokens and merges. Both are written with the characters that stand for bytes ("Ġthe" for " the").
struct BpeVocabulary {
  std::vector<std::string> tokens;                          // by ID; added tokens are among them
  std::vector<std::pair<std::string, std::string>> merges;  // by rank
  std::vector<AddedToken> added_tokens;
};

namespace detail {

/// Settings that files of a tokenizer have besides the vocabulary.
struct BpeSettings {
  bool add_prefix_space = false;
  std::optional<int64_t> model_max_length;
  std::optional<std::string> eos_token, pad_token;
};

/// Returns the bytes of a file.
/// @param op  name of the operation, for error messages
/// @throws Error that names the file if it cannot be read or is not a regular file
std::string read_text_file(const char* op, const std::string& path);
/// Reads vocab.json and merges.txt, or OpenAI's encoder.json and vocab.bpe. Lines of the second file that begin with
/// "#version" are skipped. Lines may end with CR LF.
/// @throws Error that names the file and the entry if a file is missing or damaged
BpeVocabulary read_vocabulary_and_merges(const std::string& vocab_file, const std::string& merges_file);
/// Reads tokenizer.json, and sets settings.add_prefix_space. Its settings for truncation and padding are not read:
/// EncodeOptions has them.
/// @throws Error that names the file and the entry if the file is damaged
/// @throws NotImplementedError that names a setting that GPT2Tokenizer does not have
BpeVocabulary read_bpe_tokenizer_json(const std::string& path, BpeSettings& settings);
/// Reads tokenizer_config.json: add_prefix_space, model_max_length, eos_token and pad_token. A missing key leaves the
/// setting as it is.
void read_bpe_tokenizer_config(const std::string& path, BpeSettings& settings);
/// Writes tokenizer.json, tokenizer_config.json, vocab.json and merges.txt into a folder, which is created if it does
/// not exist.
void write_bpe_files(const std::string& folder, const BpeVocabulary& vocabulary, const BpeSettings& settings);

}  // namespace detail
}  // namespace tandem::text
