// BERT (Devlin et al. 2018, arXiv:1810.04805). Modules and parameters have the names that Hugging Face uses, so that
// load() reads its model.safetensors and pytorch_model.bin without conversion.
#pragma once
#include <optional>

#include "tandem/nn/activation.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/embedding.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/normalization.h"

namespace tandem::models {

/// The hyperparameters of a BERT, under their names in config.json. The defaults are bert-base-uncased's.
struct BertConfig {
  BertConfig() = default;
  /// Reads a config.json. Missing keys keep their defaults.
  /// @throws Error  if the file cannot be read or describes a model that BertModel does not implement: another
  ///                model_type, a decoder, or positions that are not absolute. The message names the file
  static BertConfig from_json_file(const std::string& path);
  /// Writes a config.json that from_json_file() and Hugging Face's BertConfig read.
  /// @param architecture  class name in Hugging Face's library, for the key "architectures"
  /// @throws Error that names the file if it cannot be written
  void to_json_file(const std::string& path, const std::string& architecture = "BertModel") const;
  /// Number of labels of a classifier: the length of id2label.
  int64_t num_labels() const { return static_cast<int64_t>(id2label_.size()); }
  /// Sets the number of labels. If it changes, the labels are named LABEL_0, LABEL_1, ...
  /// @throws Error if it is not positive
  BertConfig& num_labels(int64_t count);
  /// Returns the number of a label in id2label. @throws Error if there is no such label
  int64_t label2id(const std::string& label) const;
  TANDEM_ARG(int64_t, vocab_size) = 30522;
  TANDEM_ARG(int64_t, hidden_size) = 768;
  TANDEM_ARG(int64_t, num_hidden_layers) = 12;
  TANDEM_ARG(int64_t, num_attention_heads) = 12;
  TANDEM_ARG(int64_t, intermediate_size) = 3072;
  TANDEM_ARG(std::string, hidden_act) = "gelu";  // "gelu", "gelu_new" (tanh approximation of gelu) or "relu"
  TANDEM_ARG(double, hidden_dropout_prob) = 0.1;
  TANDEM_ARG(double, attention_probs_dropout_prob) = 0.1;
  TANDEM_ARG(int64_t, max_position_embeddings) = 512;
  TANDEM_ARG(int64_t, type_vocab_size) = 2;
  TANDEM_ARG(double, initializer_range) = 0.02;  // standard deviation of the initial weights
  TANDEM_ARG(double, layer_norm_eps) = 1e-12;
  TANDEM_ARG(int64_t, pad_token_id) = 0;
  TANDEM_ARG(std::vector<std::string>, id2label) = {"LABEL_0", "LABEL_1"};  // names of a classifier's labels, by number
  // Dropout probability before a classifier; not set: hidden_dropout_prob.
  TANDEM_ARG(std::optional<double>, classifier_dropout) = {};
  // Loss of a classifier: "regression" (mean squared error), "single_label_classification" (cross-entropy) or
  // "multi_label_classification" (binary cross-entropy of each label). If empty, labels decide: regression if
  // num_labels is 1, multi-label if the labels are floating point, otherwise a single label.
  TANDEM_ARG(std::string, problem_type);
};

/// Embeddings of a text: LayerNorm(word + position + token type). They are the input of the first layer.
class BertEmbeddingsImpl : public nn::Cloneable<BertEmbeddingsImpl> {
 public:
  explicit BertEmbeddingsImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// input_ids (N, L), token_type_ids (N, L) or undefined (all tokens are of type 0) -> (N, L, hidden_size)
  Tensor forward(const Tensor& input_ids, const Tensor& token_type_ids = {});
  BertConfig config;
  nn::Embedding word_embeddings{nullptr}, position_embeddings{nullptr}, token_type_embeddings{nullptr};
  nn::LayerNorm LayerNorm{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(BertEmbeddings);

/// Self-attention of all tokens to each other, with num_attention_heads heads.
class BertSelfAttentionImpl : public nn::Cloneable<BertSelfAttentionImpl> {
 public:
  explicit BertSelfAttentionImpl(const BertConfig& c) : config(c) { reset(); }
  /// @throws Error unless num_attention_heads divides hidden_size
  void reset() override;
  /// x (N, L, hidden_size) -> the same sizes
  /// @param mask  bool, broadcasts to (N, heads, L, L): true if a token may attend to another; undefined: all may
  Tensor forward(const Tensor& x, const Tensor& mask);
  BertConfig config;
  nn::Linear query{nullptr}, key{nullptr}, value{nullptr};
};
TANDEM_MODULE(BertSelfAttention);

/// LayerNorm(dropout(dense(x)) + residual): the end of the attention and of the feed-forward part of a layer (Hugging
/// Face's BertSelfOutput and BertOutput).
class BertOutputImpl : public nn::Cloneable<BertOutputImpl> {
 public:
  BertOutputImpl(int64_t in_features, const BertConfig& c) : in_features(in_features), config(c) { reset(); }
  void reset() override;
  /// x (N, L, in_features), residual (N, L, hidden_size) -> (N, L, hidden_size)
  Tensor forward(const Tensor& x, const Tensor& residual);
  /// Number of input features.
  int64_t in_features;
  BertConfig config;
  nn::Linear dense{nullptr};
  nn::LayerNorm LayerNorm{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(BertOutput);

/// The attention part of a layer: self-attention ("self"), then the linear layer, residual and norm ("output").
class BertAttentionImpl : public nn::Cloneable<BertAttentionImpl> {
 public:
  explicit BertAttentionImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, hidden_size), mask as in BertSelfAttention -> (N, L, hidden_size)
  Tensor forward(const Tensor& x, const Tensor& mask) { return output(self(x, mask), x); }
  BertConfig config;
  BertSelfAttention self{nullptr};
  BertOutput output{nullptr};
};
TANDEM_MODULE(BertAttention);

/// hidden_act(dense(x)): the first half of a layer's feed-forward part, from hidden_size to intermediate_size features.
class BertIntermediateImpl : public nn::Cloneable<BertIntermediateImpl> {
 public:
  explicit BertIntermediateImpl(const BertConfig& c) : config(c) { reset(); }
  /// @throws Error unless hidden_act is gelu, gelu_new or relu
  void reset() override;
  /// x (N, L, hidden_size) -> (N, L, intermediate_size)
  Tensor forward(const Tensor& x);
  BertConfig config;
  nn::Linear dense{nullptr};
};
TANDEM_MODULE(BertIntermediate);

/// One layer of the encoder: the attention part, then the feed-forward part, each with a residual and a LayerNorm.
class BertLayerImpl : public nn::Cloneable<BertLayerImpl> {
 public:
  explicit BertLayerImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, hidden_size), mask as in BertSelfAttention -> (N, L, hidden_size)
  Tensor forward(const Tensor& x, const Tensor& mask);
  BertConfig config;
  BertAttention attention{nullptr};
  BertIntermediate intermediate{nullptr};
  BertOutput output{nullptr};
};
TANDEM_MODULE(BertLayer);

/// The encoder: num_hidden_layers layers, applied in order.
class BertEncoderImpl : public nn::Cloneable<BertEncoderImpl> {
 public:
  explicit BertEncoderImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, hidden_size), mask as in BertSelfAttention -> (N, L, hidden_size)
  Tensor forward(const Tensor& x, const Tensor& mask);
  BertConfig config;
  nn::ModuleList layer{nullptr};
};
TANDEM_MODULE(BertEncoder);

/// tanh(dense(x of the first token)): one vector per text.
class BertPoolerImpl : public nn::Cloneable<BertPoolerImpl> {
 public:
  explicit BertPoolerImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, hidden_size) -> (N, hidden_size)
  Tensor forward(const Tensor& x) { return dense(x.select(1, 0)).tanh(); }
  BertConfig config;
  nn::Linear dense{nullptr};
};
TANDEM_MODULE(BertPooler);

/// The complete model: embeddings, encoder and optional pooler. Weights are initialized from a normal distribution with
/// mean 0 and standard deviation initializer_range, biases to zero.
class BertModelImpl : public nn::Cloneable<BertModelImpl> {
 public:
  /// @param add_pooling_layer  whether the model has a pooler; models that use only the last hidden state need none
  explicit BertModelImpl(const BertConfig& c = {}, bool add_pooling_layer = true)
      : config(c), add_pooling_layer(add_pooling_layer) {
    reset();
  }
  void reset() override;
  /// Loads the weights. Also accepts the names in bert-base-uncased's files: the prefix "bert.", and gamma and beta of
  /// a LayerNorm. Other tensors in the archive are ignored.
  void load(serialize::InputArchive& archive) override;
  /// Returns the last hidden state (N, L, hidden_size) and the pooler's output (N, hidden_size), which is undefined if
  /// the model has no pooler.
  /// @param input_ids       (N, L) int64, L up to max_position_embeddings
  /// @param attention_mask  (N, L): 0 marks padding, which no token attends to; undefined: there is no padding
  /// @param token_type_ids  (N, L) int64; undefined: all tokens are of type 0
  /// @throws Error  if the sizes do not match, or L is too large
  std::tuple<Tensor, Tensor> forward(const Tensor& input_ids, const Tensor& attention_mask = {},
                                     const Tensor& token_type_ids = {});
  BertConfig config;
  /// Whether the model has a pooler.
  bool add_pooling_layer;
  BertEmbeddings embeddings{nullptr};
  BertEncoder encoder{nullptr};
  BertPooler pooler{nullptr};
};
TANDEM_MODULE(BertModel);

}  // namespace tandem::models
