// Attention: scaled_dot_product_attention, multi_head_attention_forward. Namespace and names as torch:: has them.
#pragma once
#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// softmax(query key^T scale + mask) value (Vaswani et al. 2017, arXiv:1706.03762). query (..., L, E), key (..., S, E),
/// value (..., S, V) -> (..., L, V); leading dimensions broadcast. scale is 1 / sqrt(E) unless given.
/// Half types are computed in float32 and rounded once.
///
/// float32 and float64 of four dimensions without dropout go block by block, in memory that grows with L, not with L S
/// (nn::set_layer_fusion turns that off); on GPUs with E and V of at most 128. A key that is_causal hides from all
/// queries of a block is not looked at, so that a NaN in its value stays away from their results.
/// @param attn_mask   broadcasts to (..., L, S): bool, true where a query may look, or numbers that are added. A query
///                    that may look nowhere gets zeros
/// @param dropout_p   dropout of the weights, whatever module it is called from
/// @param is_causal   query i looks at keys 0 to i; not together with attn_mask
/// @param enable_gqa  key and value may have fewer heads (dimension -3), each of which serves several of the query's
///                    (Ainslie et al. 2023, arXiv:2305.13245)
/// @throws Error unless all are of one floating dtype and their sizes fit
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0, detail::Flag is_causal = false,
                                    std::optional<double> scale = {}, detail::Flag enable_gqa = false);

}  // namespace tandem

namespace tandem::nn::functional {

struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight,
                                       Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, bool add_zero_attn,
                                       double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias);
  TANDEM_ARG(int64_t, embed_dim_to_check);             // length of a query
  TANDEM_ARG(int64_t, num_heads);                      // heads, which divide it among them
  TANDEM_ARG(Tensor, in_proj_weight);                  // (3 E, E): weights of queries, keys and values, concatenated
  TANDEM_ARG(Tensor, in_proj_bias);                    // (3 E)
  TANDEM_ARG(Tensor, bias_k);                          // (1, 1, E), one more key and value
  TANDEM_ARG(Tensor, bias_v);                          // a value that is added to each sequence
  TANDEM_ARG(bool, add_zero_attn);                     // whether a key and a value of zeros are added
  TANDEM_ARG(double, dropout_p);                       // the probability of dropping an attention
  TANDEM_ARG(Tensor, out_proj_weight);                 // (E, E)
  TANDEM_ARG(Tensor, out_proj_bias);                   // of the last projection
  TANDEM_ARG(bool, training) = true;                   // whether attentions are dropped
  TANDEM_ARG(Tensor, key_padding_mask);                // (N, S)
  TANDEM_ARG(bool, need_weights) = true;               // whether the attentions are given too
  TANDEM_ARG(Tensor, attn_mask);                       // (L, S) or (N heads, L, S)
  TANDEM_ARG(bool, use_separate_proj_weight) = false;  // the three below in place of in_proj_weight
  TANDEM_ARG(Tensor, q_proj_weight);                   // of the queries, where these are separate
  TANDEM_ARG(Tensor, k_proj_weight);                   // of the keys, where these are separate
  TANDEM_ARG(Tensor, v_proj_weight);                   // of the values, where these are separate
  TANDEM_ARG(Tensor, static_k);                   // (N heads, S, E / heads): keys and values that are not projected
  TANDEM_ARG(Tensor, static_v);                   // values that replace the projected ones
  TANDEM_ARG(bool, average_attn_weights) = true;  // whether the attentions are the mean of the heads
};
/// Computes MultiheadAttention's forward with the given parameters.
/// @throws Error naming the sizes or dtypes that do not fit
std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options);

}  // namespace tandem::nn::functional
