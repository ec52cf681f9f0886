// Llama (Touvron et al. 2023, arXiv:2302.13971), a decoder with rotary position embeddings (Su et al. 2021,
// arXiv:2104.09864), RMSNorm, SwiGLU and grouped-query attention. Modules and parameters have the names and shapes that
// Hugging Face's LlamaForCausalLM uses.
#pragma once
#include "tandem/models/generation.h"
#include "tandem/models/pretrained.h"
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/embedding.h"
#include "tandem/nn/linear.h"
#include "tandem/nn/normalization.h"

namespace tandem::models {

/// The hyperparameters of a Llama, under their names in config.json. The defaults describe Llama 7B.
struct LlamaConfig {
  LlamaConfig() = default;
  /// Reads a config.json. Missing keys keep their defaults.
  /// @throws Error  if the file cannot be read or describes a model that LlamaForCausalLM does not implement: another
  ///                model_type, another hidden_act, or scaled rotary embeddings. The message names the file
  static LlamaConfig from_json_file(const std::string& path);
  /// Writes a config.json that from_json_file() and Hugging Face's LlamaConfig read.
  /// @throws Error that names the file if it cannot be written
  void to_json_file(const std::string& path) const;
  /// Number of features of a head: head_dim_override or, if it is not set, hidden_size / num_attention_heads.
  int64_t head_dim() const { return head_dim_override_.value_or(hidden_size_ / num_attention_heads_); }
  /// Number of heads of keys and values: num_key_value_heads or, if it is 0, num_attention_heads.
  int64_t key_value_heads() const { return num_key_value_heads_ == 0 ? num_attention_heads_ : num_key_value_heads_; }
  TANDEM_ARG(int64_t, vocab_size) = 32000;
  TANDEM_ARG(int64_t, hidden_size) = 4096;
  TANDEM_ARG(int64_t, intermediate_size) = 11008;
  TANDEM_ARG(int64_t, num_hidden_layers) = 32;
  TANDEM_ARG(int64_t, num_attention_heads) = 32;
  TANDEM_ARG(int64_t, num_key_value_heads) = 0;                // divides num_attention_heads; 0: num_attention_heads
  TANDEM_ARG(std::optional<int64_t>, head_dim_override) = {};  // "head_dim" in config.json
  TANDEM_ARG(int64_t, max_position_embeddings) = 2048;
  TANDEM_ARG(double, initializer_range) = 0.02;  // standard deviation of the initial weights
  TANDEM_ARG(double, rms_norm_eps) = 1e-6;
  TANDEM_ARG(double, rope_theta) = 10000;         // base of the rotary embeddings' wavelengths
  TANDEM_ARG(double, attention_dropout) = 0;      // dropout probability of the attention weights
  TANDEM_ARG(bool, attention_bias) = false;       // whether q_proj, k_proj, v_proj and o_proj have biases
  TANDEM_ARG(bool, mlp_bias) = false;             // whether gate_proj, up_proj and down_proj have biases
  TANDEM_ARG(bool, tie_word_embeddings) = false;  // if true, embed_tokens' weight is also the output layer's
};

/// Cosines and sines of rotary position embeddings. Feature pair i of a head with D features is rotated by the angle
/// position * theta^(-2i / D).
class RotaryEmbedding {
 public:
  /// @throws Error unless head_dim is even and positive, and theta is positive
  explicit RotaryEmbedding(int64_t head_dim, double theta = 10000);
  /// Returns (cos, sin), each (..., D), for positions (...) int64. They are computed in float32 and converted to
  /// `dtype`, as in transformers.
  std::pair<Tensor, Tensor> forward(const Tensor& positions, DType dtype) const;

 private:
  int64_t head_dim_;
  double theta_;
};
/// Returns (-x2, x1), where x1 and x2 are the halves of x along the last dimension.
Tensor rotate_half(const Tensor& x);
/// Returns x cos + rotate_half(x) sin, for x (N, heads, L, D). RotaryEmbedding computes cos and sin, (L, D) or (N, L,
/// D).
Tensor apply_rotary_pos_emb(const Tensor& x, const Tensor& cos, const Tensor& sin);

/// Causal self-attention with rotary embeddings. Each key head serves num_attention_heads / num_key_value_heads heads.
class LlamaAttentionImpl : public nn::Cloneable<LlamaAttentionImpl> {
 public:
  explicit LlamaAttentionImpl(const LlamaConfig& c) : config(c) { reset(); }
  /// @throws Error unless the numbers of heads and hidden_size fit
  void reset() override;
  /// x (N, L, hidden_size) -> the same sizes. cos and sin as in apply_rotary_pos_emb().
  Tensor forward(const Tensor& x, const Tensor& cos, const Tensor& sin, const DecoderContext& context = {});
  LlamaConfig config;
  nn::Linear q_proj{nullptr}, k_proj{nullptr}, v_proj{nullptr}, o_proj{nullptr};
};
TANDEM_MODULE(LlamaAttention);

/// Feed-forward part of a layer, SwiGLU: down_proj(silu(gate_proj(x)) * up_proj(x)).
class LlamaMlpImpl : public nn::Cloneable<LlamaMlpImpl> {
 public:
  explicit LlamaMlpImpl(const LlamaConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, hidden_size) -> the same sizes
  Tensor forward(const Tensor& x);
  LlamaConfig config;
  nn::Linear gate_proj{nullptr}, up_proj{nullptr}, down_proj{nullptr};
};
TANDEM_MODULE(LlamaMlp);

/// One layer: x = x + self_attn(input_layernorm(x)), then x + mlp(post_attention_layernorm(x)).
class LlamaDecoderLayerImpl : public nn::Cloneable<LlamaDecoderLayerImpl> {
 public:
  explicit LlamaDecoderLayerImpl(const LlamaConfig& c) : config(c) { reset(); }
  void reset() override;
  /// x (N, L, hidden_size) -> the same sizes. Other arguments as in LlamaAttention.
  Tensor forward(const Tensor& x, const Tensor& cos, const Tensor& sin, const DecoderContext& context = {});
  LlamaConfig config;
  LlamaAttention self_attn{nullptr};
  LlamaMlp mlp{nullptr};
  nn::RMSNorm input_layernorm{nullptr}, post_attention_layernorm{nullptr};
};
TANDEM_MODULE(LlamaDecoderLayer);

/// The decoder without its output layer.
class LlamaModelImpl : public nn::Cloneable<LlamaModelImpl> {
 public:
  explicit LlamaModelImpl(const LlamaConfig& c = {}) : config(c) { reset(); }
  void reset() override;
  /// Returns the last hidden states (N, L, hidden_size). Arguments and errors as in LlamaForCausalLM.
  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask = {}, KvCache* cache = nullptr);
  LlamaConfig config;
  nn::Embedding embed_tokens{nullptr};
  nn::ModuleList layers{nullptr};
  nn::RMSNorm norm{nullptr};
};
TANDEM_MODULE(LlamaModel);

/// The complete decoder with its output layer. Weights are initialized from a normal distribution with mean 0 and
/// standard deviation initializer_range, biases to zero.
class LlamaForCausalLMImpl : public nn::Cloneable<LlamaForCausalLMImpl> {
 public:
  explicit LlamaForCausalLMImpl(const LlamaConfig& c = {}) : config(c) { reset(); }
  void reset() override;
  /// Loads the weights. If the output layer is tied, a lm_head.weight in the file is ignored.
  void load(serialize::InputArchive& archive) override;
  /// input_ids (N, L) int64 -> logits (N, L, vocab_size) of the token that follows each position
  /// @param attention_mask, cache  as in GptModel
  /// @throws Error  if sizes do not match, a token is not in the vocabulary, or there are more than
  ///                max_position_embeddings tokens
  Tensor forward(const Tensor& input_ids, const Tensor& attention_mask = {}, KvCache* cache = nullptr);
  /// Returns the mean cross-entropy of predicting the next token. Labels as in GptModel::loss().
  Tensor loss(const Tensor& input_ids, const Tensor& labels);
  /// Generates tokens after input_ids, as GptModel::generate() does.
  Tensor generate(const Tensor& input_ids, const GenerationOptions& options, const Tensor& attention_mask = {});
  /// Returns an empty cache for `batch` texts of up to max_length tokens.
  KvCache make_cache(int64_t batch, int64_t max_length) const;
  /// Writes config.json and model.safetensors into a folder, which is created if necessary. Hugging Face's
  /// LlamaForCausalLM.from_pretrained(folder) reads them.
  /// @throws Error that names the file if it cannot be written
  void save_pretrained(const std::string& folder) const;
  LlamaConfig config;
  LlamaModel model{nullptr};
  /// Output layer; null if embed_tokens' weight takes its place (tie_word_embeddings).
  nn::Linear lm_head{nullptr};

 private:
  Tensor logits(const Tensor& hidden);
};

/// Handle of a LlamaForCausalLMImpl.
class LlamaForCausalLM : public nn::ModuleHolder<LlamaForCausalLMImpl> {
 public:
  using nn::ModuleHolder<LlamaForCausalLMImpl>::ModuleHolder;
  using Impl = LlamaForCausalLMImpl;
  /// Loads config.json and the weights of a folder. The model is in evaluation mode. `info` as in
  /// BertForSequenceClassification.
  /// @throws Error  if a file is missing or damaged, or the weights do not fit the configuration
  static LlamaForCausalLM from_pretrained(const std::string& folder, const PretrainedOptions& options = {},
                                          LoadingInfo* info = nullptr);
};

}  // namespace tandem::models
