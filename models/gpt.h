// GPT-2 (Radford et al. 2019), a decoder that predicts for each position the next token. Modules and parameters have
// the names and shapes that Hugging Face uses, so that load() reads its model.safetensors and pytorch_model.bin without
// conversion.
#pragma once
#include "tandem/models/generation.h"
#include "tandem/models/pretrained.h"
#include "tandem/nn/activation.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/dropout.h"
#include "tandem/nn/embedding.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/normalization.h"

namespace tandem::models {

/// The hyperparameters of a GPT-2, under their names in config.json. The defaults describe "gpt2", the smallest one.
struct GptConfig {
  GptConfig() = default;
  /// Reads a config.json. Missing keys keep their defaults.
  /// @throws Error  if the file cannot be read or describes a model that GptModel does not implement: another
  ///                model_type, cross-attention, another size of the MLP, or attention that is scaled in another way.
  ///                The message names the file
  static GptConfig from_json_file(const std::string& path);
  /// Writes a config.json that from_json_file() and Hugging Face's GPT2Config read.
  /// @throws Error that names the file if it cannot be written
  void to_json_file(const std::string& path) const;
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
  // Tokens that begin and end a text. GptModel does not use them; they are written to config.json.
  TANDEM_ARG(std::optional<int64_t>, bos_token_id) = 50256;
  TANDEM_ARG(std::optional<int64_t>, eos_token_id) = 50256;
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
  Tensor forward(const Tensor& x, const DecoderContext& context = {});
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
  Tensor forward(const Tensor& x, const DecoderContext& context = {});
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
  /// input_ids (N, L) int64, L up to n_positions -> logits (N, L, vocab_size) of the next token
  /// @param attention_mask  (N, S), S being the number of cached and new tokens: 0 marks padding. No token attends to
  ///                        padding, and positions do not count it. Undefined: there is no padding
  /// @param cache           keys and values of earlier tokens; forward adds the keys and values of input_ids. Gradients
  /// must
  ///                        be disabled. Null: input_ids are the first tokens
  /// @throws Error  if sizes do not match, a token is not in the vocabulary, or there are more than n_positions tokens
  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask = {}, KvCache* cache = nullptr);
  /// Returns the mean cross-entropy of predicting the next token.
  /// @param labels  (N, L) int64, usually input_ids itself: the logits at position i predict label i + 1. Labels
  ///                of -100 are ignored
  Tensor loss(const Tensor& input_ids, const Tensor& labels);
  /// Generates tokens after input_ids, and returns prompts and new tokens: int64 (N, L + number of steps). A text that
  /// has ended is followed by pad_token_id.
  /// @param input_ids       (N, L) int64, the prompts; shorter ones are padded at the start
  /// @param attention_mask  (N, L): 0 marks padding; undefined: there is no padding
  /// @throws Error  if the model is in training mode, an option is out of range, no option ends the generation, or
  ///                there are fewer positions than tokens
  Tensor generate(const Tensor& input_ids, const GenerationOptions& options, const Tensor& attention_mask = {});
  /// Returns an empty cache for `batch` texts of up to max_length tokens.
  KvCache make_cache(int64_t batch, int64_t max_length) const;
  /// Writes config.json and model.safetensors into a folder, which is created if necessary. Hugging Face's
  /// GPT2LMHeadModel.from_pretrained(folder) reads them.
  /// @throws Error that names the file if it cannot be written
  void save_pretrained(const std::string& folder) const;
  GptConfig config;
  /// Embeddings of tokens and of positions.
  nn::Embedding wte{nullptr}, wpe{nullptr};
  nn::Dropout drop{nullptr};
  /// The layers.
  nn::ModuleList h{nullptr};
  nn::LayerNorm ln_f{nullptr};
  /// Head that computes the logits; null if wte's weight takes its place (tie_word_embeddings).
  nn::Linear lm_head{nullptr};

 private:
  Tensor hidden_states(const Tensor& input_ids, const Tensor& attention_mask, KvCache* cache);
  Tensor logits(const Tensor& hidden);
};

/// Handle of a GptModelImpl.
class GptModel : public nn::ModuleHolder<GptModelImpl> {
 public:
  using nn::ModuleHolder<GptModelImpl>::ModuleHolder;
  using Impl = GptModelImpl;
  /// Loads config.json and the weights of a folder, in the layout of GPT2LMHeadModel or GPT2Model. The model is in
  /// evaluation mode. `info` as in BertForSequenceClassification.
  /// @throws Error  if a file is missing or damaged, or the weights do not fit the configuration
  static GptModel from_pretrained(const std::string& folder, const PretrainedOptions& options = {},
                                  LoadingInfo* info = nullptr);
};

}  // namespace tandem::models
