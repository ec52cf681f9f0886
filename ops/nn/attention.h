// Attention: scaled_dot_product_attention. Namespace and names as torch:: has them.
#pragma once
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
