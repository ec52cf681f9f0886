// Attention: scaled_dot_product_attention, multi_head_attention_forward. Namespaces and names as in torch::.
#pragma once
#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns softmax(query key^T scale + mask) value (Vaswani et al. 2017, arXiv:1706.03762). query (..., L, E), key
/// (..., S, E), value (..., S, V) -> (..., L, V); leading dimensions broadcast. scale defaults to 1 / sqrt(E). Half
/// types are computed in float32 and rounded once.
///
/// 4-d operands are computed block by block, in memory proportional to L rather than L S, unless nn::set_layer_fusion
/// disables it or attn_mask requires a gradient; on GPUs only in float32 or float64 without dropout, if E and V are at
/// most 128. The mask of dropout is not stored: backward draws the same random numbers again. On CPUs that multiply
/// bfloat16, blocks of bfloat16 round the weights to bfloat16 before they are multiplied. If is_causal hides a key from
/// all queries of a block, the block skips this key, so a NaN in its value does not affect the block's results.
/// @param attn_mask   broadcasts to (..., L, S). A bool mask is true where a query may attend; other numbers are added
///                    to the scores. A query that may not attend to any key gets zeros
/// @param dropout_p   dropout probability of the attention weights, which applies in evaluation mode too
/// @param is_causal   query i attends to keys 0 to i; not allowed together with attn_mask
/// @param enable_gqa  key and value may have fewer heads (dimension -3) than query; each of them then serves several
///                    heads of query (Ainslie et al. 2023, arXiv:2305.13245)
/// @throws Error unless query, key and value are of one floating dtype, attn_mask is bool, float32 or of that dtype,
/// and their sizes fit
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0, detail::Flag is_causal = false,
                                    std::optional<double> scale = {}, detail::Flag enable_gqa = false);

}  // namespace tandem

namespace tandem::nn::functional {

struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads, Tensor in_proj_weight,
                                       Tensor in_proj_bias, Tensor bias_k, Tensor bias_v, bool add_zero_attn,
                                       double dropout_p, Tensor out_proj_weight, Tensor out_proj_bias);
  TANDEM_ARG(int64_t, embed_dim_to_check);  // number of features of a query
  TANDEM_ARG(int64_t, num_heads);           // number of heads; must divide embed_dim
  TANDEM_ARG(Tensor, in_proj_weight);       // (3 * E, E): query, key and value projection weights, concatenated
  TANDEM_ARG(Tensor, in_proj_bias);         // (3 * E): query, key and value projection biases, concatenated
  TANDEM_ARG(Tensor, bias_k);               // (1, 1, E): a key that is appended to each sequence
  TANDEM_ARG(Tensor, bias_v);               // (1, 1, E): a value that is appended to each sequence
  TANDEM_ARG(bool, add_zero_attn);          // whether to append a key and a value of zeros
  TANDEM_ARG(double, dropout_p);            // dropout probability of the attention weights
  TANDEM_ARG(Tensor, out_proj_weight);      // (E, E): weight of the output projection
  TANDEM_ARG(Tensor, out_proj_bias);        // (E): bias of the output projection
  TANDEM_ARG(bool, training) = true;        // whether dropout is applied
  TANDEM_ARG(Tensor, key_padding_mask);     // (N, S): keys to ignore (a bool mask), or numbers to add to the scores
  TANDEM_ARG(bool, need_weights) = true;    // whether to return the attention weights too
  // (L, S) or (N * heads, L, S): a bool mask (true: the key is hidden from the query), or numbers to add to the scores.
  TANDEM_ARG(Tensor, attn_mask);
  // whether q_, k_ and v_proj_weight are used instead of in_proj_weight
  TANDEM_ARG(bool, use_separate_proj_weight) = false;
  TANDEM_ARG(Tensor, q_proj_weight);              // weight of the query projection, if use_separate_proj_weight
  TANDEM_ARG(Tensor, k_proj_weight);              // weight of the key projection, if use_separate_proj_weight
  TANDEM_ARG(Tensor, v_proj_weight);              // weight of the value projection, if use_separate_proj_weight
  TANDEM_ARG(Tensor, static_k);                   // (N * heads, S, E / heads): replaces the projected keys
  TANDEM_ARG(Tensor, static_v);                   // (N * heads, S, E / heads): replaces the projected values
  TANDEM_ARG(bool, average_attn_weights) = true;  // whether returned weights are averaged over heads
};
/// Computes the forward of MultiheadAttention with the given parameters. Returns (output, attention weights); the
/// weights are undefined unless need_weights.
/// @throws Error that names the sizes or dtypes that do not fit
std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                        const MultiheadAttentionForwardFuncOptions& options);

}  // namespace tandem::nn::functional
