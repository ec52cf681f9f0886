// GPT2Tokenizer: byte-level BPE, which converts any text to the numbers of a vocabulary and back without a loss.
#pragma once
#include <array>
#include <unordered_map>

#include "tandem/text/bpe_vocabulary.h"
#include "tandem/text/tokenizer.h"

namespace tandem::text {

namespace detail {
class MergeTable;
}  // namespace detail

/// Options of GPT2Tokenizer, with the names of tokenizer_config.json.
struct GPT2TokenizerOptions {
  /// Encodes a text that does not begin with a space as if it did, so that its first word is encoded like the others.
  TANDEM_ARG(bool, add_prefix_space) = false;
  /// Token at the end of a text; not set: <|endoftext|> if the vocabulary has it.
  TANDEM_ARG(std::optional<std::string>, eos_token);
  /// Token that fills batches; not set: none, as for GPT-2.
  TANDEM_ARG(std::optional<std::string>, pad_token);
  TANDEM_ARG(int64_t, model_max_length) = 1024;
};

/// Byte-level byte-pair encoding (Radford et al. 2019), equal to Hugging Face's tokenizers with GPT-2's files. The text
/// is split into words: contractions, runs of letters, of numbers, of other characters, and of white space. Each word
/// begins as its bytes, and merges of adjacent tokens are applied in the order of the vocabulary's list. The name of an
/// added token, such as "<|endoftext|>", becomes that token.
///
/// Any bytes can be encoded. Bytes that are not UTF-8 are split like punctuation, and keep their values. decode()
/// returns bytes, so decode(tokenize_to_ids(text)) is the text for any bytes, except for the space that
/// add_prefix_space adds and for white space next to added tokens with lstrip or rstrip. A part of a text's IDs may
/// decode to bytes that are not UTF-8.
class GPT2Tokenizer : public Tokenizer {
 public:
  /// Reads vocab.json and merges.txt, or OpenAI's encoder.json and vocab.bpe. eos_token and pad_token become special
  /// tokens.
  /// @throws Error that names the file and the entry if a file is missing or damaged, if a merge names a token that
  ///     the vocabulary lacks, or if the vocabulary has no token for one of the 256 bytes
  /// @throws NotImplementedError in a build without utf8proc
  GPT2Tokenizer(const std::string& vocab_file, const std::string& merges_file,
                const GPT2TokenizerOptions& options = {});
  /// @param source  name of the vocabulary's source, for error messages
  explicit GPT2Tokenizer(BpeVocabulary vocabulary, const GPT2TokenizerOptions& options = {},
                         const std::string& source = "GPT2Tokenizer");
  GPT2Tokenizer(GPT2Tokenizer&&) noexcept;
  ~GPT2Tokenizer() override;

  std::string decode(const std::vector<int64_t>& ids, bool skip_special_tokens = false) const override;
  std::vector<int64_t> tokenize_to_ids(std::string_view text) const override;

  int64_t vocab_size() const override { return static_cast<int64_t>(vocabulary_.tokens.size()); }
  /// Returns the token with a number, written with the characters that stand for bytes: "Ġthe" for " the".
  const std::string& convert_ids_to_tokens(int64_t id) const override;
  std::optional<int64_t> convert_tokens_to_ids(std::string_view token) const override;
  bool is_special(int64_t id) const override;
  std::optional<int64_t> pad_token_id() const override { return pad_token_id_; }
  std::optional<int64_t> eos_token_id() const override { return eos_token_id_; }
  int64_t model_max_length() const override { return options_.model_max_length(); }
  /// Writes tokenizer.json, vocab.json, merges.txt and tokenizer_config.json. @throws Error if a file cannot be written
  void save(const std::string& folder) const override;

  const BpeVocabulary& vocabulary() const { return vocabulary_; }
  const GPT2TokenizerOptions& options() const { return options_; }

 private:
  void add_tokens(const std::string& source);
  /// Builds merges_. Returns for each ID whether the token stands for one byte or is the result of a merge.
  std::vector<char> add_merges(const std::string& source);
  void add_added_tokens(const std::string& source, const std::vector<char>& is_mergeable);
  void add_one_token_words();
  std::optional<int64_t> find_special_token(const std::optional<std::string>& token, const char* option,
                                            const std::string& source) const;
  void encode_words(std::string_view text, std::vector<int64_t>& ids) const;
  void encode_word(std::string_view word, std::vector<int64_t>& ids, std::vector<int32_t>& scratch) const;

  BpeVocabulary vocabulary_;
  GPT2TokenizerOptions options_;
  std::vector<std::string> bytes_;                           // by ID: the bytes that the token decodes to
  std::unordered_map<std::string_view, int64_t> token_ids_;  // views of vocabulary_.tokens
  std::array<int32_t, 256> byte_ids_{};                      // IDs of the tokens of single bytes
  std::unique_ptr<detail::MergeTable> merges_;
  // Words that are encoded as one token, with their IDs: views of bytes_. Most words of a text are among them.
  std::unordered_map<std::string_view, int32_t> one_token_words_;
  std::vector<char> is_special_;                               // by ID
  detail::AddedTokenFinder added_tokens_, normalized_tokens_;  // searched for one after the other
  std::optional<int64_t> eos_token_id_, pad_token_id_;
};

/// Loads a GPT2Tokenizer from a tokenizer.json, or from a folder with tokenizer.json, or vocab.json and merges.txt, or
/// encoder.json and vocab.bpe. Reads the options in the tokenizer_config.json of the same folder, if there is one.
/// @throws Error that names the file if it is missing or damaged
/// @throws NotImplementedError that names a setting in tokenizer.json that GPT2Tokenizer does not have
std::shared_ptr<const GPT2Tokenizer> load_gpt2_tokenizer(const std::string& path);

namespace detail {
/// Whether a folder has vocab.json and merges.txt, or encoder.json and vocab.bpe.
bool has_gpt2_vocabulary(const std::string& folder);
}  // namespace detail

}  // namespace tandem::text
