// Tokenizer: the interface of tokenizers, which convert texts to the numbers of a model's vocabulary and back.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::text {

/// Options of encoding, with the names of Hugging Face's tokenizers.
struct EncodeOptions {
  /// Adds the model's special tokens: [CLS] and [SEP] for BERT, none for GPT-2.
  TANDEM_ARG(bool, add_special_tokens) = true;
  /// Maximum number of tokens of an encoding, including special tokens; not set: the tokenizer's model_max_length.
  TANDEM_ARG(std::optional<int64_t>, max_length) = {};
  /// How longer encodings are shortened. "longest_first": the longer text of a pair, then both to half of the length;
  /// "only_first", "only_second": one text of a pair; "do_not_truncate".
  TANDEM_ARG(std::string, truncation) = "longest_first";
  /// "do_not_pad"; "longest": to the longest encoding of a batch; "max_length": to max_length. Tensors need one length,
  /// so operator() treats "do_not_pad" as "longest".
  TANDEM_ARG(std::string, padding) = "do_not_pad";
  /// Rounds the padded length up to a multiple of this number.
  TANDEM_ARG(int64_t, pad_to_multiple_of) = 1;
};

/// An encoded text or pair of texts. All lists have the same length.
struct Encoding {
  std::vector<int64_t> ids;                  // numbers of the tokens
  std::vector<int64_t> type_ids;             // 0 for the first text and its special tokens, 1 for the second
  std::vector<int64_t> attention_mask;       // 1 for tokens, 0 for padding
  std::vector<int64_t> special_tokens_mask;  // 1 for tokens that are not from the texts: special tokens and padding
};

/// A model's inputs for a batch of texts.
struct BatchEncoding {
  Tensor input_ids;       // int64 (texts, length): token numbers, padded with the padding token
  Tensor attention_mask;  // int64 (texts, length): 1 for tokens, 0 for padding
  Tensor token_type_ids;  // int64 (texts, length): 0 for the first text of a pair, 1 for the second
};

/// Base class of tokenizers. Tokenizers are immutable after construction, and several threads may use one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Encodes a text, or a pair of texts. Truncates as Hugging Face's tokenizers do.
  /// @throws Error for options that are not known, for a max_length without room for the special tokens, if the text
  ///     that `truncation` names is missing or would lose all its tokens, and for padding without a padding token
  Encoding encode(std::string_view text, std::optional<std::string_view> pair = {},
                  const EncodeOptions& options = {}) const;
  /// Encodes texts, or pairs of texts, on several threads. The result does not depend on the number of threads.
  /// @param pairs  second texts, as many as `texts`; empty: there are none
  /// @throws Error as encode() for the first text that it refuses, and if `pairs` has another size than `texts`
  std::vector<Encoding> encode_batch(const std::vector<std::string>& texts, const std::vector<std::string>& pairs = {},
                                     const EncodeOptions& options = {}) const;
  /// Combines encodings into tensors, padded to the longest encoding.
  /// @throws Error if encodings differ in length and the vocabulary has no padding token
  BatchEncoding pad(const std::vector<Encoding>& encodings) const;
  /// Returns pad() of encode_batch().
  BatchEncoding operator()(const std::vector<std::string>& texts, const std::vector<std::string>& pairs = {},
                           const EncodeOptions& options = {}) const;
  /// Converts token numbers back to text. @throws IndexError for a number that no token has
  virtual std::string decode(const std::vector<int64_t>& ids, bool skip_special_tokens = false) const = 0;
  /// Returns the tokens of a text, without special tokens that the text does not contain.
  std::vector<std::string> tokenize(std::string_view text) const;
  /// Returns the numbers of tokenize().
  virtual std::vector<int64_t> tokenize_to_ids(std::string_view text) const = 0;

  /// Number of tokens in the vocabulary.
  virtual int64_t vocab_size() const = 0;
  /// Returns the token with a number. @throws IndexError for a number that no token has
  virtual const std::string& convert_ids_to_tokens(int64_t id) const = 0;
  /// Returns the number of a token; nullopt if there is no such token.
  virtual std::optional<int64_t> convert_tokens_to_ids(std::string_view token) const = 0;
  /// Whether the number is that of a special token.
  virtual bool is_special(int64_t id) const = 0;
  /// Number of the padding token; nullopt if the vocabulary has none.
  virtual std::optional<int64_t> pad_token_id() const { return {}; }
  /// Number of the token that ends a text; nullopt if the vocabulary has none.
  virtual std::optional<int64_t> eos_token_id() const { return {}; }
  /// Maximum number of tokens of the model's inputs, including special tokens.
  virtual int64_t model_max_length() const = 0;
  /// Writes tokenizer.json and the vocabulary's own files into a folder, so that load_tokenizer() and Hugging Face's
  /// tokenizers read it.
  virtual void save(const std::string& folder) const = 0;

 protected:
  /// Special tokens around a text, or around the two texts of a pair. Those after the second text have type ID 1.
  struct Template {
    std::vector<int64_t> before, after;  // before and after the first text
    std::vector<int64_t> after_pair;     // after the second text
  };
  virtual Template special_token_template() const { return {}; }

 private:
  Encoding encode_without_padding(std::string_view text, std::optional<std::string_view> pair,
                                  const EncodeOptions& options) const;
  void pad_to(Encoding& encoding, size_t length) const;
  size_t padded_length(size_t longest, const EncodeOptions& options) const;
};

/// Loads the tokenizer in a model's folder, or from a tokenizer.json: tokenizer.json of BERT's or GPT-2's kind; or
/// vocab.txt with the options in tokenizer_config.json; or vocab.json and merges.txt; or encoder.json and vocab.bpe.
/// @throws Error that names the file if it is missing or damaged, or describes another kind of tokenizer
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path);

}  // namespace tandem::text
