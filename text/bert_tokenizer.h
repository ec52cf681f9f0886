// BertTokenizer: converts text to the numbers of word pieces, like Hugging Face's tokenizers of BERT.
#pragma once
#include <unordered_map>

#include "tandem/text/tokenizer.h"

namespace tandem::text {

/// Options for preparing text, with the names of tokenizer_config.json.
struct BertTokenizerOptions {
  TANDEM_ARG(bool, do_lower_case) = true;
  TANDEM_ARG(std::optional<bool>, strip_accents);  // if unset, equal to do_lower_case
  TANDEM_ARG(bool, tokenize_chinese_chars) = true;
  TANDEM_ARG(int64_t, model_max_length) = 512;  // maximum number of tokens of a text, including [CLS] and [SEP]
  TANDEM_ARG(std::string, unk_token) = "[UNK]";
  TANDEM_ARG(std::string, sep_token) = "[SEP]";
  TANDEM_ARG(std::string, pad_token) = "[PAD]";
  TANDEM_ARG(std::string, cls_token) = "[CLS]";
  TANDEM_ARG(std::string, mask_token) = "[MASK]";
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

  std::vector<int64_t> tokenize_to_ids(std::string_view text) const override;
  /// Joins tokens to text, as the decoder of Hugging Face's tokenizers does: "##" joins a token to the one before,
  /// other tokens follow a space, except punctuation.
  std::string decode(const std::vector<int64_t>& ids, bool skip_special_tokens = false) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(tokens_.size()); }
  const std::string& convert_ids_to_tokens(int64_t id) const override;
  std::optional<int64_t> convert_tokens_to_ids(std::string_view token) const override;
  bool is_special(int64_t id) const override;
  std::optional<int64_t> pad_token_id() const override { return pad_token_id_; }
  int64_t model_max_length() const override { return options.model_max_length(); }
  void save(const std::string& folder) const override;
  BertTokenizerOptions options;

 private:
  using Vocab = std::unordered_map<std::string, int64_t>;
  Template special_token_template() const override { return {{cls_token_id_}, {sep_token_id_}, {sep_token_id_}}; }
  void basic_tokenize(std::string_view text, std::vector<int64_t>& ids) const;
  void wordpiece_tokenize(const std::u32string& word, std::vector<int64_t>& ids) const;
  std::vector<std::string> tokens_;
  Vocab initial_pieces_, subword_pieces_;  // pieces that begin a word; pieces within a word, without the prefix "##"
  Vocab special_tokens_;                   // special tokens by name
  size_t max_piece_bytes_ = 0;             // in bytes
  int64_t unk_token_id_ = 0, sep_token_id_ = 0, pad_token_id_ = 0, cls_token_id_ = 0;
};

}  // namespace tandem::text
