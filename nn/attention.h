// MultiheadAttention: several attentions side by side, each on its own part of the features.
#pragma once
#include "tandem/nn/linear.h"
#include "tandem/ops/nn/attention.h"

namespace tandem::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  TANDEM_ARG(int64_t, embed_dim);           // length of a query and of an output
  TANDEM_ARG(int64_t, num_heads);           // heads, which divide it among them
  TANDEM_ARG(double, dropout) = 0;          // of the weights
  TANDEM_ARG(bool, bias) = true;            // of the projections
  TANDEM_ARG(bool, add_bias_kv) = false;    // one more key and value, which are trained
  TANDEM_ARG(bool, add_zero_attn) = false;  // one more key and value, of zeros
  TANDEM_ARG(int64_t, kdim);                // features of the key and of the value: embed_dim unless set
  TANDEM_ARG(int64_t, vdim);                // length of a value; embed_dim unless given
  TANDEM_ARG(bool, batch_first) = false;    // (N, L, E) in place of (L, N, E), as Python's PyTorch has it
};

namespace functional {

using tandem::scaled_dot_product_attention;

}  // namespace functional

/// out_proj(heads side by side), each head the attention softmax(q k^T / sqrt(E / heads)) v of its share of the
/// projected query, key and value (Vaswani et al. 2017, arXiv:1706.03762).
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& o) : options(o) { reset(); }
  /// @throws Error unless num_heads divides embed_dim
  void reset() override;
  /// Xavier's uniform values for the projections, zeros for their biases, Xavier's normal ones for bias_k and bias_v.
  void _reset_parameters();
  /// query (L, N, E), key (S, N, kdim), value (S, N, vdim), or all without N -> (output (L, N, E), weights (N, L, S)).
  /// @param key_padding_mask      (N, S): bool, true where a key is to be ignored, or numbers that are added
  /// @param need_weights          false: no weights are given back, and a query that may look nowhere gives the bias
  ///                              of out_proj in place of NaNs
  /// @param attn_mask             (L, S) or (N heads, L, S), as key_padding_mask
  /// @param average_attn_weights  false: weights (N, heads, L, S)
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true);
  MultiheadAttentionOptions options;
  Tensor in_proj_weight;                               // (3 E, E), where kdim and vdim are E
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;  // (E, E), (E, kdim), (E, vdim), else
  Tensor in_proj_bias;                                 // (3 E)
  Tensor bias_k, bias_v;                               // (1, 1, E)
  /// embed_dim to embed_dim, behind the joined heads.
  Linear out_proj{nullptr};
  /// embed_dim / num_heads.
  int64_t head_dim = 0;
};
TANDEM_LIBRARY_MODULE(MultiheadAttention);

}  // namespace tandem::nn
