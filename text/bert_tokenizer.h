// BertTokenizer: converts text to the numbers of word pieces, like Hugging Face's tokenizers of BERT.
#pragma once
#include <unordered_map>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

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

/// A model's inputs for a batch of texts.
struct BatchEncoding {
  Tensor input_ids;       // int64 (texts, longest text): token numbers, padded with [PAD]
  Tensor attention_mask;  // int64 (texts, longest text): 1 for tokens, 0 for padding
};

/// Splits text into the pieces of a vocabulary (Wu et al. 2016, arXiv:1609.08144). Control characters are dropped,
/// accents stripped and letters made lower case; Chinese characters and punctuation become separate words. From each
/// word it takes the longest piece that the vocabulary has, then the longest piece of the rest (stored as "##rest"),
/// and so on. A word of more than 100 characters, or with a part that matches no piece, becomes [UNK]. If the text
/// contains the name of a special token, such as "[MASK]", the name becomes that token. Bytes that are not UTF-8 are
/// dropped. Characters are classified by utf8proc. Hugging Face's tables date from 2015, so its tokenizers treat newer
/// accents and punctuation as ordinary characters.
class BertTokenizer {
 public:
  /// @param vocab_file  vocab.txt, one token per line; a token's number is the number of its line, from 0
  /// @throws Error  that names the file if it cannot be read or lacks a special token
  /// @throws NotImplementedError  in a build without utf8proc
  explicit BertTokenizer(const std::string& vocab_file, const BertTokenizerOptions& options = {});

  /// Returns all pieces of a text, without [CLS] and [SEP].
  std::vector<std::string> tokenize(std::string_view text) const;
  /// Returns the numbers of [CLS], the pieces and [SEP]. If there are more than model_max_length tokens, the last
  /// pieces are dropped.
  std::vector<int64_t> encode(std::string_view text) const;
  /// Combines encoded texts into one batch, padded to the longest text.
  BatchEncoding pad(const std::vector<std::vector<int64_t>>& encoded) const;
  /// Returns pad() of the encoded texts.
  BatchEncoding operator()(const std::vector<std::string>& texts) const;

  /// Returns the number of tokens in the vocabulary.
  int64_t vocab_size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Returns the token with a number. @throws IndexError if no token has this number
  const std::string& convert_ids_to_tokens(int64_t id) const;
  BertTokenizerOptions options;

 private:
  using Vocab = std::unordered_map<std::string, int64_t>;
  std::vector<int64_t> tokenize_to_ids(std::string_view text) const;
  void basic_tokenize(std::string_view text, std::vector<int64_t>& ids) const;
  void wordpiece_tokenize(const std::u32string& word, std::vector<int64_t>& ids) const;
  std::vector<std::string> tokens_;
  Vocab initial_pieces_, subword_pieces_;  // pieces that begin a word; pieces within a word, without the prefix "##"
  Vocab special_tokens_;                   // special tokens by name
  size_t max_piece_bytes_ = 0;             // in bytes
  int64_t unk_token_id_ = 0, sep_token_id_ = 0, pad_token_id_ = 0, cls_token_id_ = 0;
};

}  // namespace tandem::text
