// BERT (Devlin et al. 2018, arXiv:1810.04805). Modules and parameters have Hugging Face's names, so that its
// model.safetensors and pytorch_model.bin are read as they are.
#pragma once
#include "tandem/nn/activation.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/embedding.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/normalization.h"

namespace tandem::models {

/// The sizes of a BERT, under the names of config.json; these are bert-base-uncased's.
struct BertConfig {
  BertConfig() = default;
  /// @throws Error  naming the file, when it cannot be read or is of something else than what BertModel computes
  static BertConfig from_json_file(const std::string& path);
  TANDEM_ARG(int64_t, vocab_size) = 30522;
  TANDEM_ARG(int64_t, hidden_size) = 768;
  TANDEM_ARG(int64_t, num_hidden_layers) = 12;
  TANDEM_ARG(int64_t, num_attention_heads) = 12;
  TANDEM_ARG(int64_t, intermediate_size) = 3072;
  TANDEM_ARG(std::string, hidden_act) = "gelu";  // or gelu_new, which takes tanh for erf, or relu
  TANDEM_ARG(double, hidden_dropout_prob) = 0.1;
  TANDEM_ARG(double, attention_probs_dropout_prob) = 0.1;
  TANDEM_ARG(int64_t, max_position_embeddings) = 512;
  TANDEM_ARG(int64_t, type_vocab_size) = 2;
  TANDEM_ARG(double, initializer_range) = 0.02;  // standard deviation of the initial weights
  TANDEM_ARG(double, layer_norm_eps) = 1e-12;
  TANDEM_ARG(int64_t, pad_token_id) = 0;
};

/// LayerNorm(word + position + type): what the first layer gets of each token.
class BertEmbeddingsImpl : public nn::Cloneable<BertEmbeddingsImpl> {
 public:
  explicit BertEmbeddingsImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// input_ids (N, L), token_type_ids (N, L) or none, for all of type 0 -> (N, L, hidden_size)
  Tensor forward(const Tensor& input_ids, const Tensor& token_type_ids = {});
  BertConfig config;
  nn::Embedding word_embeddings{nullptr}, position_embeddings{nullptr}, token_type_embeddings{nullptr};
  nn::LayerNorm LayerNorm{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(BertEmbeddings);

/// Attention of every token to all others, num_attention_heads side by side.
class BertSelfAttentionImpl : public nn::Cloneable<BertSelfAttentionImpl> {
 public:
  explicit BertSelfAttentionImpl(const BertConfig& c) : config(c) { reset(); }
  /// @throws Error unless num_attention_heads divides hidden_size
  void reset() override;
  /// x (N, L, hidden_size), mask that broadcasts to (N, heads, L, L): true where a token may look -> as x
  Tensor forward(const Tensor& x, const Tensor& mask);
  BertConfig config;
  nn::Linear query{nullptr}, key{nullptr}, value{nullptr};
};
TANDEM_MODULE(BertSelfAttention);

/// LayerNorm(dense(x) + residual): how both parts of a layer end (Hugging Face's BertSelfOutput and BertOutput).
class BertOutputImpl : public nn::Cloneable<BertOutputImpl> {
 public:
  BertOutputImpl(int64_t in_features, const BertConfig& c) : in_features(in_features), config(c) { reset(); }
  void reset() override;
  /// x (N, L, in_features), residual (N, L, hidden_size) -> as residual
  Tensor forward(const Tensor& x, const Tensor& residual);
  /// Length of an input.
  int64_t in_features;
  BertConfig config;
  nn::Linear dense{nullptr};
  nn::LayerNorm LayerNorm{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(BertOutput);

/// Attention and the end of it, under the names "self" and "output".
class BertAttentionImpl : public nn::Cloneable<BertAttentionImpl> {
 public:
  explicit BertAttentionImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// As BertSelfAttention.
  Tensor forward(const Tensor& x, const Tensor& mask) { return output(self(x, mask), x); }
  BertConfig config;
  BertSelfAttention self{nullptr};
  BertOutput output{nullptr};
};
TANDEM_MODULE(BertAttention);

/// hidden_act(dense(x)): hidden_size -> intermediate_size
class BertIntermediateImpl : public nn::Cloneable<BertIntermediateImpl> {
 public:
  explicit BertIntermediateImpl(const BertConfig& c) : config(c) { reset(); }
  /// @throws Error for a hidden_act that it does not know
  void reset() override;
  /// x (N, L, hidden_size) -> (N, L, intermediate_size)
  Tensor forward(const Tensor& x);
  BertConfig config;
  nn::Linear dense{nullptr};
};
TANDEM_MODULE(BertIntermediate);

/// One layer of the encoder: attention, then two linear layers, each part with its residual and norm.
class BertLayerImpl : public nn::Cloneable<BertLayerImpl> {
 public:
  explicit BertLayerImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// As BertSelfAttention.
  Tensor forward(const Tensor& x, const Tensor& mask);
  BertConfig config;
  BertAttention attention{nullptr};
  BertIntermediate intermediate{nullptr};
  BertOutput output{nullptr};
};
TANDEM_MODULE(BertLayer);

/// num_hidden_layers layers, one after the other.
class BertEncoderImpl : public nn::Cloneable<BertEncoderImpl> {
 public:
  explicit BertEncoderImpl(const BertConfig& c) : config(c) { reset(); }
  void reset() override;
  /// As BertSelfAttention.
  Tensor forward(const Tensor& x, const Tensor& mask);
  BertConfig config;
  nn::ModuleList layer{nullptr};
};
TANDEM_MODULE(BertEncoder);

/// tanh(dense(x of the first token)): one vector for a text.
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

/// The whole encoder. Initial weights are normal with a deviation of initializer_range, biases zero.
class BertModelImpl : public nn::Cloneable<BertModelImpl> {
 public:
  /// @param add_pooling_layer  false: no pooler, as for models that use only the last hidden state
  explicit BertModelImpl(const BertConfig& c = {}, bool add_pooling_layer = true)
      : config(c), add_pooling_layer(add_pooling_layer) {
    reset();
  }
  void reset() override;
  /// Takes the names of bert-base-uncased's files too: "bert." before each, LayerNorm's gamma and beta.
  void load(serialize::InputArchive& archive) override;
  /// (last hidden state (N, L, hidden_size), pooler's output (N, hidden_size), undefined without a pooler)
  /// @param input_ids       (N, L) int64, L up to max_position_embeddings
  /// @param attention_mask  (N, L): 0 where a token is padding, which no other looks at; none: all count
  /// @param token_type_ids  (N, L) int64; none: all are of type 0
  /// @throws Error  naming the sizes that do not fit, or too many tokens
  std::tuple<Tensor, Tensor> forward(const Tensor& input_ids, const Tensor& attention_mask = {},
                                     const Tensor& token_type_ids = {});
  BertConfig config;
  /// Whether forward() gives the pooled vectors too.
  bool add_pooling_layer;
  BertEmbeddings embeddings{nullptr};
  BertEncoder encoder{nullptr};
  BertPooler pooler{nullptr};
};
TANDEM_MODULE(BertModel);

}  // namespace tandem::models
