// MultiheadAttention: several attention heads, each on its own slice of the features.
#pragma once
#include "tandem/nn/linear.h"
#include "tandem/ops/nn/attention.h"

namespace tandem::nn {

struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}
  TANDEM_ARG(int64_t, embed_dim);           // number of features of queries and outputs
  TANDEM_ARG(int64_t, num_heads);           // number of heads; must divide embed_dim
  TANDEM_ARG(double, dropout) = 0;          // dropout probability of the attention weights
  TANDEM_ARG(bool, bias) = true;            // whether the projections have biases
  TANDEM_ARG(bool, add_bias_kv) = false;    // if true, adds a trained key and value to every sequence
  TANDEM_ARG(bool, add_zero_attn) = false;  // if true, adds a key and a value of zeros to every sequence
  TANDEM_ARG(int64_t, kdim);                // number of features of keys; embed_dim unless set
  TANDEM_ARG(int64_t, vdim);                // number of features of values; embed_dim unless set
  TANDEM_ARG(bool, batch_first) = false;    // if true, tensors are (N, L, E) instead of (L, N, E)
};

namespace functional {

using tandem::scaled_dot_product_attention;

}  // namespace functional

/// Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762). Projects query, key and value, splits the features
/// into heads, computes softmax(q k^T / sqrt(E / num_heads)) v in each head, and applies out_proj to the concatenated
/// heads.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& o) : options(o) { reset(); }
  /// @throws Error unless num_heads divides embed_dim
  void reset() override;
  /// Initialises the projections by xavier_uniform_, their biases with zeros, and bias_k and bias_v by xavier_normal_.
  void _reset_parameters();
  /// Computes (output, weights): query (L, N, E), key (S, N, kdim), value (S, N, vdim) give output (L, N, E) and
  /// weights (N, L, S). All tensors may lack N.
  /// @param key_padding_mask      (N, S): bool, true for keys to ignore, or numbers to add to the scores
  /// @param need_weights          if false, returns undefined weights. In either case, a query whose keys are all
  /// masked
  ///                              gives NaN
  /// @param attn_mask             (L, S) or (N * num_heads, L, S), with values as in key_padding_mask
  /// @param average_attn_weights  if false, weights are per head: (N, num_heads, L, S)
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {}, bool average_attn_weights = true);
  MultiheadAttentionOptions options;
  /// Weights of the query, key and value projections in one tensor, (3 * embed_dim, embed_dim); undefined unless kdim
  /// and vdim are embed_dim.
  Tensor in_proj_weight;
  /// Weights of the query, key and value projections, (embed_dim, embed_dim), (embed_dim, kdim) and (embed_dim, vdim);
  /// undefined if kdim and vdim are embed_dim.
  Tensor q_proj_weight, k_proj_weight, v_proj_weight;
  /// Biases of the query, key and value projections in one tensor, (3 * embed_dim); undefined if options.bias() is
  /// false.
  Tensor in_proj_bias;
  /// Key and value that are added to every sequence, (1, 1, embed_dim); undefined unless options.add_bias_kv() is true.
  Tensor bias_k, bias_v;
  /// Projects the concatenated heads, from embed_dim to embed_dim features.
  Linear out_proj{nullptr};
  /// Features per head: embed_dim / num_heads.
  int64_t head_dim = 0;
};
TANDEM_LIBRARY_MODULE(MultiheadAttention);

}  // namespace tandem::nn
