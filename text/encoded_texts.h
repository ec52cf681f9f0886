// EncodedTexts: a dataset of encoded texts with labels, whose batches are padded to their longest text.
#pragma once
#include "tandem/data/batch_part.h"
#include "tandem/data/dataset.h"
#include "tandem/text/labelled_texts.h"
#include "tandem/text/tokenizer.h"

namespace tandem::text {

/// A batch of encoded texts with labels.
struct TextBatch {
  Tensor input_ids;       // int64 (rows, length): token numbers, padded with the padding token
  Tensor attention_mask;  // int64 (rows, length): 1 for tokens, 0 for padding
  Tensor token_type_ids;  // int64 (rows, length): 0 for the first text of a pair, 1 for the second
  Tensor labels;          // int64 (rows); -100 if the texts have no labels
  /// The tensors, for loaders and DataParallel, which move or divide them.
  auto tensor_parts() { return std::tie(input_ids, attention_mask, token_type_ids, labels); }
};

/// Options of EncodedTexts.
struct EncodedTextsOptions {
  /// Number of the token that fills rows up to the length of the batch.
  TANDEM_ARG(int64_t, pad_token_id) = 0;
  /// Rounds the length of a batch up to a multiple of this number.
  TANDEM_ARG(int64_t, pad_to_multiple_of) = 1;
};

/// A dataset of encoded texts. A batch is padded to its longest text. If a Trainer divides a batch among ranks, each
/// part has the length of the whole batch, so that all strategies compute the same numbers. Copies share the texts.
class EncodedTexts : public data::datasets::BatchDataset<EncodedTexts, TextBatch, data::BatchPart> {
 public:
  using Options = EncodedTextsOptions;
  /// @param encodings  encoded texts without padding
  /// @param labels     one label for each text; empty: the texts have no labels
  /// @throws Error if the numbers of texts and labels differ, an encoding is empty or has lists of different lengths,
  ///     a token's number is not in [0, 2^31), or a type ID is not in [0, 256)
  explicit EncodedTexts(const std::vector<Encoding>& encodings, std::vector<int64_t> labels = {},
                        const Options& options = {});
  /// Encodes texts on several threads. Batches are padded with the tokenizer's padding token.
  /// @throws Error as Tokenizer::encode_batch and the constructor do
  static EncodedTexts encode(const Tokenizer& tokenizer, const LabelledTexts& texts, EncodeOptions encode_options = {},
                             Options options = {});
  TextBatch get_batch(data::BatchPart part) override;
  std::optional<size_t> size() const override { return contents_->ends.size(); }
  /// Returns the number of tokens of each text, for train::DataSource::lengths().
  std::vector<int64_t> lengths() const;
  /// Returns the labels; empty if the texts have none.
  const std::vector<int64_t>& labels() const { return contents_->labels; }

 private:
  struct Contents {
    std::vector<int32_t> ids;  // of all texts, one after another
    std::vector<uint8_t> type_ids;
    std::vector<size_t> ends;  // position after the last token of each text
    std::vector<int64_t> labels;
  };
  void append(const std::vector<Encoding>& encodings);
  void set_labels(std::vector<int64_t> labels);
  size_t begin(size_t row) const { return row == 0 ? 0 : contents_->ends[row - 1]; }
  std::shared_ptr<Contents> contents_;
  Options options_;
};

}  // namespace tandem::text
