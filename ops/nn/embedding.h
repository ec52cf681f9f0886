// Embeddings: embedding and embedding_renorm, which look up and shorten rows of a table, and one_hot.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// (N, num_classes) int64 with a one at each target.
Tensor one_hot(const Tensor& target, int64_t num_classes = -1);
/// Rows of weight (V, D) at the indices of any shape: index.sizes() + (D,). The row padding_idx gets no gradient. A
/// negative padding_idx means no row; nn::functional::embedding takes it as counted from the end.
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {});

/// weight with those of its rows that index names, and whose p-norm is above max_norm, made that short. It records
/// nothing.
Tensor& embedding_renorm_(Tensor& weight, const Tensor& index, double max_norm, double norm_type);
inline Tensor embedding_renorm(const Tensor& weight, const Tensor& index, double max_norm, double norm_type) {
  Tensor copy = weight.detach().clone();
  return embedding_renorm_(copy, index, max_norm, norm_type);
}

}  // namespace tandem
