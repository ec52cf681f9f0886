// BertForSequenceClassification: a BERT with a classifier for whole texts or pairs of texts. Parameters have the names
// that Hugging Face uses.
#pragma once
#include "tandem/models/bert.h"
#include "tandem/models/pretrained.h"

namespace tandem::models {

/// A batch of N texts or pairs of texts with L tokens each, and their labels.
struct SequenceClassificationBatch {
  Tensor input_ids;       // int64 (N, L)
  Tensor attention_mask;  // (N, L): 0 marks padding; undefined: there is no padding
  Tensor token_type_ids;  // int64 (N, L): 1 for the second text of a pair; undefined: all tokens are of type 0
  Tensor labels;          // as BertForSequenceClassification::compute_loss() takes them; undefined: not known
  /// Lists the tensors (core/tensor_tree.h).
  auto tensor_parts() { return std::tie(input_ids, attention_mask, token_type_ids, labels); }
};

/// Output of BertForSequenceClassification for a batch.
struct SequenceClassifierOutput {
  Tensor loss;    // mean loss over the batch, a scalar; undefined without labels
  Tensor logits;  // (N, num_labels)
  /// Lists the tensors (core/tensor_tree.h).
  auto tensor_parts() { return std::tie(loss, logits); }
};

class BertForSequenceClassification;

/// BertModel ("bert"), dropout and a linear layer ("classifier") from the pooler's output to num_labels logits.
///
///     auto model = BertForSequenceClassification::from_pretrained(folder, config.num_labels(3));
///     model(input_ids, attention_mask, token_type_ids, labels).loss.backward();
class BertForSequenceClassificationImpl : public nn::Cloneable<BertForSequenceClassificationImpl> {
 public:
  explicit BertForSequenceClassificationImpl(const BertConfig& c = {}) : config(c) { reset(); }
  /// @throws Error if the configuration has no labels, or a problem_type that is not known
  void reset() override;
  /// Loads the weights, which must include the classifier's. Accepts the names that BertModel accepts.
  void load(serialize::InputArchive& archive) override;
  /// Computes the logits, and the loss if there are labels. Takes the same inputs as BertModel.
  /// @param labels  see compute_loss()
  /// @throws Error  as BertModel and compute_loss() do
  SequenceClassifierOutput forward(const Tensor& input_ids, const Tensor& attention_mask = {},
                                   const Tensor& token_type_ids = {}, const Tensor& labels = {});
  SequenceClassifierOutput forward(const SequenceClassificationBatch& batch) {
    return forward(batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.labels);
  }
  /// Returns the mean loss that config.problem_type() names.
  /// @param logits  (N, num_labels)
  /// @param labels  for a single label: int64 (N), each in [0, num_labels), or -100 for a text that does not count.
  ///                Regression: (N) or (N, num_labels), any dtype. Several labels: floating point (N, num_labels)
  /// @throws Error  if the sizes or the dtype of labels do not fit
  Tensor compute_loss(const Tensor& logits, const Tensor& labels) const;
  /// Writes config.json and model.safetensors into a folder, which is created if necessary. Hugging Face's
  /// BertForSequenceClassification.from_pretrained(folder) reads them.
  /// @throws Error that names the file if it cannot be written
  void save_pretrained(const std::string& folder) const;
  BertConfig config;
  BertModel bert{nullptr};
  nn::Dropout dropout{nullptr};
  nn::Linear classifier{nullptr};
};

/// Handle of a BertForSequenceClassificationImpl.
class BertForSequenceClassification : public nn::ModuleHolder<BertForSequenceClassificationImpl> {
 public:
  using nn::ModuleHolder<BertForSequenceClassificationImpl>::ModuleHolder;
  using Impl = BertForSequenceClassificationImpl;
  /// Loads config.json and the weights of a folder. If the file is of a BERT without a classifier or without a pooler,
  /// these parts are newly initialized: `info->missing_keys` lists their parameters. If `info` is null, a warning on
  /// standard error lists them. The model is in evaluation mode.
  /// @param config  replaces the folder's config.json, for example to change the number of labels
  /// @throws Error  if a file is missing or damaged, other weights are missing, or weights have other sizes than the
  ///                configuration, unless options.ignore_mismatched_sizes() is true
  static BertForSequenceClassification from_pretrained(const std::string& folder, const PretrainedOptions& options = {},
                                                       LoadingInfo* info = nullptr);
  static BertForSequenceClassification from_pretrained(const std::string& folder, const BertConfig& config,
                                                       const PretrainedOptions& options = {},
                                                       LoadingInfo* info = nullptr);
};

}  // namespace tandem::models
