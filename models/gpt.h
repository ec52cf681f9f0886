// GPT-2 (Radford et al. 2019), a decoder that says for each token which one follows. Modules and parameters have
// Hugging Face's names and shapes, so that its model.safetensors and pytorch_model.bin are read as they are.
#pragma once
#include "tandem/nn/activation.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/embedding.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/normalization.h"

namespace tandem::models {

/// The sizes of a GPT-2, under the names of config.json; these are gpt2's, the small one.
struct GptConfig {
  TANDEM_ARG(int64_t, vocab_size) = 50257;
  TANDEM_ARG(int64_t, n_positions) = 1024;  // the longest context
  TANDEM_ARG(int64_t, n_embd) = 768;        // width
  TANDEM_ARG(int64_t, n_layer) = 12;
  TANDEM_ARG(int64_t, n_head) = 12;
  TANDEM_ARG(std::string, activation_function) = "gelu_new";  // which takes tanh for erf; or gelu or relu
  TANDEM_ARG(double, resid_pdrop) = 0.1;                      // dropout of what each part of a layer adds
  TANDEM_ARG(double, embd_pdrop) = 0.1;
  TANDEM_ARG(double, attn_pdrop) = 0.1;
  TANDEM_ARG(double, layer_norm_epsilon) = 1e-5;
  TANDEM_ARG(double, initializer_range) = 0.02;  // standard deviation of the initial weights
  TANDEM_ARG(bool, tie_word_embeddings) = true;  // whether wte's weight makes the logits too; else lm_head's does
};

/// x W + b with W as GPT-2's files have it, which is the other way round than nn::Linear's.
class GptConv1DImpl : public nn::Cloneable<GptConv1DImpl> {
 public:
  GptConv1DImpl(int64_t in_features, int64_t out_features) : in_features(in_features), out_features(out_features) {
    reset();
  }
  void reset() override;
  /// x (..., in_features) -> (..., out_features)
  Tensor forward(const Tensor& x) { return nn::functional::linear(x, weight.t(), bias); }
  /// Lengths of an input and of an output.
  int64_t in_features, out_features;
  Tensor weight;  // (in_features, out_features)
  Tensor bias;    // (out_features)
};
TANDEM_MODULE(GptConv1D);

/// Attention of every token to itself and those before it, n_head side by side.
class GptAttentionImpl : public nn::Cloneable<GptAttentionImpl> {
 public:
  explicit GptAttentionImpl(const GptConfig& c) : config(c) { reset(); }
  /// @throws Error unless n_head divides n_embd
  void reset() override;
  /// x (N, L, n_embd) -> the same sizes
  Tensor forward(const Tensor& x);
  GptConfig config;
  /// To queries, keys and values, one behind the other, and from all heads to the result.
  GptConv1D c_attn{nullptr}, c_proj{nullptr};
  nn::Dropout resid_dropout{nullptr};
};
TANDEM_MODULE(GptAttention);

/// c_proj(activation(c_fc(x))), four times as wide in between.
class GptMlpImpl : public nn::Cloneable<GptMlpImpl> {
 public:
  explicit GptMlpImpl(const GptConfig& c) : config(c) { reset(); }
  /// @throws Error for an activation_function that it does not know
  void reset() override;
  /// x (N, L, n_embd) -> the same sizes
  Tensor forward(const Tensor& x);
  GptConfig config;
  GptConv1D c_fc{nullptr}, c_proj{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(GptMlp);

/// One layer: x + attn(ln_1(x)), and then x + mlp(ln_2(x)).
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

/// The whole decoder with its head. Initial weights are normal with a deviation of initializer_range, those of each
/// c_proj by 1 / sqrt(2 n_layer) less; biases are zero.
class GptModelImpl : public nn::Cloneable<GptModelImpl> {
 public:
  explicit GptModelImpl(const GptConfig& c = {}) : config(c) { reset(); }
  void reset() override;
  /// Takes the names of GPT2LMHeadModel's files too, which have "transformer." before each; of a tied head, which such
  /// a file may hold once more, wte's weight counts.
  void load(serialize::InputArchive& archive) override;
  /// input_ids (N, L) int64, L up to n_positions -> logits (N, L, vocab_size), at each place of the token that follows
  /// @throws Error  naming the sizes that do not fit, or too many tokens
  Tensor forward(const Tensor& input_ids);
  /// The mean cross entropy of what forward() says of each next token.
  /// @param labels  (N, L) int64, as a rule input_ids: what place i says is compared with label i + 1; -100 counts not
  Tensor loss(const Tensor& input_ids, const Tensor& labels);
  GptConfig config;
  /// Of tokens and of positions.
  nn::Embedding wte{nullptr}, wpe{nullptr};
  nn::Dropout drop{nullptr};
  /// The layers.
  nn::ModuleList h{nullptr};
  nn::LayerNorm ln_f{nullptr};
  /// Null where the head is tied.
  nn::Linear lm_head{nullptr};
};
TANDEM_MODULE(GptModel);

}  // namespace tandem::models
