// Embeddings: embedding, embedding_bag and embedding_renorm, which look up, sum and shorten rows of a table; one_hot.
#pragma once
#include <variant>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/loss/reduction.h"

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

namespace detail {
struct MaxTag {};
/// Returns padding_idx counted from the front, or nullopt if there is none. @throws Error unless it is a row
std::optional<int64_t> padding_row(const char* name, std::optional<int64_t> padding_idx, int64_t rows);
}  // namespace detail
/// LibTorch's name of the largest, beside kSum and kMean.
constexpr detail::MaxTag kMax;

}  // namespace tandem

namespace tandem::nn {

/// kMean, kSum or kMax.
using EmbeddingBagMode = std::variant<Reduction, detail::MaxTag>;

namespace functional {

struct EmbeddingFuncOptions {
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // a row that gets no gradient
  TANDEM_ARG(std::optional<double>, max_norm);      // rows that are used and longer are made this long
  TANDEM_ARG(double, norm_type) = 2;                // the p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // whether a row's gradient is divided by how often the batch names it
};
struct EmbeddingBagFuncOptions {
  TANDEM_ARG(Tensor, offsets);                   // where each bag begins
  TANDEM_ARG(std::optional<double>, max_norm);   // rows that are used and longer are made this long
  TANDEM_ARG(double, norm_type) = 2;             // the p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // whether a row's gradient is divided by how often the batch names it
  TANDEM_ARG(EmbeddingBagMode, mode) = Reduction::mean;  // how the rows of a bag become one
  TANDEM_ARG(Tensor, per_sample_weights);                // a factor for each index; for sums only
  TANDEM_ARG(bool, include_last_offset) = false;         // whether offsets end with the number of indices
  TANDEM_ARG(std::optional<int64_t>, padding_idx);       // a row that its bag leaves out; it gets no gradient
};
/// Rows of weight (V, D) at the indices, which come first, as PyTorch's functional form has it.
/// @throws Error as tandem::embedding
Tensor embedding(const Tensor& index, const Tensor& weight, const EmbeddingFuncOptions& o = {});
/// The sum, mean or, element by element, largest of the rows of each bag: index (B, N) has bags of N; index (n) has one
/// bag from each of the offsets (B) up to the next. Rows of padding_idx are left out; a bag of none gives zeros. ->
/// (B, D). per_sample_weights, of index's sizes, multiply the rows; with kSum only.
/// @throws Error unless offsets begin with 0, do not fall, and stay within index; for scale_grad_by_freq with kMax
Tensor embedding_bag(const Tensor& index, const Tensor& weight, const EmbeddingBagFuncOptions& o = {});

}  // namespace functional

}  // namespace tandem::nn
