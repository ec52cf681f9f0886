// BertTokenizer: text to the numbers of word pieces, as Hugging Face's tokenizers of BERT give them.
#pragma once
#include <unordered_map>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::data {

/// How text is prepared, under the names of tokenizer_config.json.
struct BertTokenizerOptions {
  TANDEM_ARG(bool, do_lower_case) = true;
  TANDEM_ARG(std::optional<bool>, strip_accents);  // as do_lower_case, unless given
  TANDEM_ARG(bool, tokenize_chinese_chars) = true;
  TANDEM_ARG(int64_t, model_max_length) = 512;  // tokens of a text at most, [CLS] and [SEP] among them
  TANDEM_ARG(std::string, unk_token) = "[UNK]";
  TANDEM_ARG(std::string, sep_token) = "[SEP]";
  TANDEM_ARG(std::string, pad_token) = "[PAD]";
  TANDEM_ARG(std::string, cls_token) = "[CLS]";
  TANDEM_ARG(std::string, mask_token) = "[MASK]";
};

/// What a model takes of a batch of texts.
struct BatchEncoding {
  Tensor input_ids;       // (texts, longest) int64; behind the end of a text the number of [PAD]
  Tensor attention_mask;  // (texts, longest) int64: 1 for a token of the text, 0 behind its end
};

/// Splits text into the pieces of a vocabulary (Wu et al. 2016, arXiv:1609.08144): control characters are left out and
/// accents stripped, letters become lower case, Chinese characters and punctuation stand alone, and of each word the
/// longest piece that the vocabulary has is taken, then the longest of the rest (as "##rest"). A word of more than 100
/// characters, or with a part that no piece fits, is [UNK]. The names of the special tokens stand for themselves within
/// text. Bytes that are not UTF-8 are left out. What a character is, utf8proc says; Hugging Face's table is of 2015,
/// and of characters that are younger it knows no accents and no punctuation.
class BertTokenizer {
 public:
  /// @param vocab_file  vocab.txt, a token a line; the number of a token is that of its line, from 0
  /// @throws Error  naming the file when it cannot be read or has not all special tokens
  /// @throws NotImplementedError  in a build without utf8proc
  explicit BertTokenizer(const std::string& vocab_file, const BertTokenizerOptions& options = {});

  /// The pieces of a text, without [CLS] and [SEP], however many.
  std::vector<std::string> tokenize(std::string_view text) const;
  /// The numbers of [CLS], the pieces and [SEP]; what is longer than model_max_length loses its last pieces.
  std::vector<int64_t> encode(std::string_view text) const;
  /// Texts that were encoded, as one batch, each as long as the longest.
  BatchEncoding pad(const std::vector<std::vector<int64_t>>& encoded) const;
  /// encode and pad.
  BatchEncoding operator()(const std::vector<std::string>& texts) const;

  /// How many tokens the vocabulary has.
  int64_t vocab_size() const { return static_cast<int64_t>(tokens_.size()); }
  /// @throws IndexError for a number that no token has
  const std::string& convert_ids_to_tokens(int64_t id) const;
  BertTokenizerOptions options;

 private:
  using Pieces = std::unordered_map<std::string, int64_t>;
  std::vector<int64_t> pieces_of(std::string_view text) const;
  void split_words(std::string_view text, std::vector<int64_t>& ids) const;
  void split_word(const std::u32string& word, std::vector<int64_t>& ids) const;
  std::vector<std::string> tokens_;
  Pieces first_, rest_;       // pieces that begin a word, and those behind, without their "##"
  Pieces special_;            // the special tokens by their names
  size_t longest_piece_ = 0;  // in bytes
  int64_t unk_ = 0, sep_ = 0, pad_ = 0, cls_ = 0;
};

}  // namespace tandem::data
