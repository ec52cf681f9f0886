// BertTokenizer: converts text to the numbers of word pieces, like Hugging Face's tokenizers of BERT.
#pragma once
#include "tandem/text/added_tokens.h"
#include "tandem/text/bert_normalizer.h"
#include "tandem/text/tokenizer.h"
#include "tandem/text/wordpiece.h"

namespace tandem::text {

/// Options for preparing text, with the names of tokenizer_config.json and tokenizer.json. A special token with an
/// empty name does not exist; unk_token must exist.
struct BertTokenizerOptions {
  TANDEM_ARG(bool, do_lower_case) = true;
  TANDEM_ARG(std::optional<bool>, strip_accents);  // if unset, equal to do_lower_case
  TANDEM_ARG(bool, tokenize_chinese_chars) = true;
  TANDEM_ARG(bool, clean_text) = true;          // drops control characters
  TANDEM_ARG(int64_t, model_max_length) = 512;  // maximum number of tokens of a text, including [CLS] and [SEP]
  TANDEM_ARG(int64_t, max_input_chars_per_word) = 100;
  TANDEM_ARG(std::string, continuing_subword_prefix) = "##";
  TANDEM_ARG(std::string, unk_token) = "[UNK]";
  TANDEM_ARG(std::string, sep_token) = "[SEP]";
  TANDEM_ARG(std::string, pad_token) = "[PAD]";
  TANDEM_ARG(std::string, cls_token) = "[CLS]";
  TANDEM_ARG(std::string, mask_token) = "[MASK]";
  /// Whether encode() puts cls_token and sep_token around texts.
  TANDEM_ARG(bool, add_cls_and_sep) = true;
  /// Whether decode() removes the spaces before punctuation.
  TANDEM_ARG(bool, cleanup) = true;
  /// Tokens that are found in texts before they are split into words. If unset, the special tokens above. A token that
  /// is not in the vocabulary has the number after the last; its `id` is set by the tokenizer.
  TANDEM_ARG(std::optional<std::vector<AddedToken>>, added_tokens);
};

/// Splits text into the pieces of a vocabulary (Wu et al. 2016, arXiv:1609.08144). Control characters are dropped,
/// accents stripped and letters made lower case; Chinese characters and punctuation become separate words. From each
/// word it takes the longest piece that the vocabulary has, then the longest piece of the rest (stored as "##rest"),
/// and so on. A word of more than 100 characters, or with a part that matches no piece, becomes [UNK]. If the text
/// contains the name of a special token, such as "[MASK]", the name becomes that token. Bytes that are not UTF-8 are
/// dropped. Characters are classified by utf8proc. Hugging Face's tables date from 2015, so its tokenizers treat newer
/// accents and punctuation as ordinary characters.
class BertTokenizer : public Tokenizer {
 public:
  /// @param vocab_file  vocab.txt, one token per line; a token's number is the number of its line, from 0
  /// @throws Error  that names the file if it cannot be read or lacks a special token
  /// @throws NotImplementedError  in a build without utf8proc
  explicit BertTokenizer(const std::string& vocab_file, const BertTokenizerOptions& options = {});
  /// @param vocab   tokens by number
  /// @param source  name of the vocabulary for error messages
  BertTokenizer(std::vector<std::string> vocab, const BertTokenizerOptions& options, const std::string& source);

  std::vector<int64_t> tokenize_to_ids(std::string_view text) const override;
  /// Joins tokens to text, as the decoder of Hugging Face's tokenizers does: "##" joins a token to the one before,
  /// other tokens follow a space, except some punctuation.
  std::string decode(const std::vector<int64_t>& ids, bool skip_special_tokens = false) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(tokens_.size()); }
  const std::string& convert_ids_to_tokens(int64_t id) const override;
  std::optional<int64_t> convert_tokens_to_ids(std::string_view token) const override;
  bool is_special(int64_t id) const override;
  std::optional<int64_t> pad_token_id() const override { return pad_token_id_; }
  int64_t model_max_length() const override { return options_.model_max_length(); }
  /// Writes tokenizer.json, vocab.txt and tokenizer_config.json.
  /// @throws Error if a file cannot be written, or could not hold the vocabulary: tokens that are not UTF-8, contain
  /// line
  ///     ends, or occur twice
  void save(const std::string& folder) const override;

  const BertTokenizerOptions& options() const { return options_; }
  /// Added tokens, with their numbers. For decode() and convert_ids_to_tokens(), the name of a token found in
  /// normalized text is its normalized content.
  const std::vector<AddedToken>& added_tokens() const { return added_; }
  /// Returns a copy with another model_max_length. @throws Error unless it is at least 2
  BertTokenizer with_model_max_length(int64_t model_max_length) const;

 private:
  Template special_token_template() const override { return template_; }
  void append_words(std::string_view text, std::vector<int64_t>& ids) const;
  std::optional<int64_t> find_special(const std::string& token, const std::string& source) const;
  void add_tokens();

  BertTokenizerOptions options_;
  std::vector<std::string> tokens_;  // by number, with added tokens
  size_t model_tokens_ = 0;          // number of tokens without added ones that the vocabulary lacks
  std::vector<AddedToken> added_;
  std::vector<bool> is_special_;  // by number
  detail::BertNormalizer normalizer_;
  detail::WordPiece pieces_;
  detail::AddedTokenFinder in_original_, in_normalized_;  // for added tokens found before and after normalization
  Template template_;
  std::optional<int64_t> pad_token_id_;
};

}  // namespace tandem::text
