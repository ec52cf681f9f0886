// GPT-2 (Radford et al. 2019), a decoder that predicts for each position the next token. Modules and parameters have
// the names and shapes that Hugging Face uses, so that load() reads its model.safetensors and pytorch_model.bin without
// conversion.
#pragma once
#include "tandem/nn/activation.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/embedding.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/normalization.h"

namespace tandem::models {

/// The hyperparameters of a GPT-2, under their names in config.json. The defaults describe "gpt2", the smallest one.
struct GptConfig {
  TANDEM_ARG(int64_t, vocab_size) = 50257;
  TANDEM_ARG(int64_t, n_positions) = 1024;  // maximum number of tokens
  TANDEM_ARG(int64_t, n_embd) = 768;        // size of a hidden state
  TANDEM_ARG(int64_t, n_layer) = 12;
  TANDEM_ARG(int64_t, n_head) = 12;
  TANDEM_ARG(std::string, activation_function) = "gelu_new";  // "gelu_new" (tanh approximation), "gelu" or "relu"
  TANDEM_ARG(double, resid_pdrop) = 0.1;                      // dropout probability after attention and after MLP
  TANDEM_ARG(double, embd_pdrop) = 0.1;
  TANDEM_ARG(double, attn_pdrop) = 0.1;
  TANDEM_ARG(double, layer_norm_epsilon) = 1e-5;
  TANDEM_ARG(double, initializer_range) = 0.02;  // standard deviation of the initial weights
  TANDEM_ARG(bool, tie_word_embeddings) = true;  // if true, wte's weight is also the output layer's (no lm_head)
};

/// Linear layer x W + b whose weight is transposed relative to nn::Linear's, as in GPT-2's files.
class GptConv1DImpl : public nn::Cloneable<GptConv1DImpl> {
 public:
  GptConv1DImpl(int64_t in_features, int64_t out_features) : in_features(in_features), out_features(out_features) {
    reset();
  }
  void reset() override;
  /// x (..., in_features) -> (..., out_features)
  Tensor forward(const Tensor& x) { return nn::functional::linear(x, weight.t(), bias); }
  /// Numbers of input and output features.
  int64_t in_features, out_features;
  Tensor weight;  // (in_features, out_features)
  Tensor bias;    // (out_features)
};
TANDEM_MODULE(GptConv1D);

/// Causal self-attention with n_head heads: a token attends to itself and to all tokens before it.
class GptAttentionImpl : public nn::Cloneable<GptAttentionImpl> {
 public:
  explicit GptAttentionImpl(const GptConfig& c) : config(c) { reset(); }
  /// @throws Error unless n_head divides n_embd
  void reset() override;
  /// x (N, L, n_embd) -> the same sizes
  Tensor forward(const Tensor& x);
  GptConfig config;
  /// c_attn computes queries, keys and values, concatenated; c_proj projects the concatenated heads to the output.
  GptConv1D c_attn{nullptr}, c_proj{nullptr};
  nn::Dropout resid_dropout{nullptr};
};
TANDEM_MODULE(GptAttention);

/// Feed-forward part of a layer: c_proj(activation(c_fc(x))), with 4 * n_embd hidden features.
class GptMlpImpl : public nn::Cloneable<GptMlpImpl> {
 public:
  explicit GptMlpImpl(const GptConfig& c) : config(c) { reset(); }
  /// @throws Error unless activation_function is gelu, gelu_new or relu
  void reset() override;
  /// x (N, L, n_embd) -> the same sizes
  Tensor forward(const Tensor& x);
  GptConfig config;
  GptConv1D c_fc{nullptr}, c_proj{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(GptMlp);

/// One layer: x = x + attn(ln_1(x)), then x + mlp(ln_2(x)).
class GptBlockImpl : public nn::Cloneable<GptBlockImpl> {
 public:
  explicit GptBlockImpl(const GptConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, n_embd) -> the same sizes
  Tensor forward(const Tensor& x);
  GptConfig config;
  nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  GptAttention attn{nullptr};
  GptMlp mlp{nullptr};
};
TANDEM_MODULE(GptBlock);

/// The complete decoder with its language-model head. Weights are initialized from a normal distribution with mean 0
/// and standard deviation initializer_range; for the weight of each c_proj, the deviation is initializer_range / sqrt(2
/// * n_layer). Biases are initialized to zero.
class GptModelImpl : public nn::Cloneable<GptModelImpl> {
 public:
  explicit GptModelImpl(const GptConfig& c = {}) : config(c) { reset(); }
  void reset() override;
  /// Loads the weights. Also accepts files of Hugging Face's GPT2LMHeadModel, whose names have the prefix
  /// "transformer.". If the head is tied, a lm_head.weight in the file is ignored in favour of wte.weight.
  void load(serialize::InputArchive& archive) override;
  /// input_ids (N, L) int64, L up to n_positions -> logits (N, L, vocab_size) of the token that follows each position
  /// @throws Error  if input_ids is not 2-dimensional, or L is too large
  Tensor forward(const Tensor& input_ids);
  /// Returns the mean cross-entropy of predicting the next token.
  /// @param labels  (N, L) int64, usually input_ids itself: the logits at position i predict label i + 1. Labels
  ///                of -100 are ignored
  Tensor loss(const Tensor& input_ids, const Tensor& labels);
  GptConfig config;
  /// Embeddings of tokens and of positions.
  nn::Embedding wte{nullptr}, wpe{nullptr};
  nn::Dropout drop{nullptr};
  /// The layers.
  nn::ModuleList h{nullptr};
  nn::LayerNorm ln_f{nullptr};
  /// Head that computes the logits; null if wte's weight takes its place (tie_word_embeddings).
  nn::Linear lm_head{nullptr};
};
TANDEM_MODULE(GptModel);

}  // namespace tandem::models
