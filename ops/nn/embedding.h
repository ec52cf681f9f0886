// Embeddings: embedding looks up rows of a table, embedding_bag sums them, embedding_renorm limits their norms;
// one_hot converts class indices to unit vectors.
#pragma once
#include <variant>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns int64 vectors target.sizes() + (num_classes,) with a 1 at each target and 0 elsewhere. num_classes defaults
/// to the largest target plus 1.
Tensor one_hot(const Tensor& target, int64_t num_classes = -1);
/// Returns the rows of weight (V, D) at the positions `index`, which may have any shape. The result has the sizes
/// index.sizes() + (D,). The row padding_idx gets no gradient. A negative padding_idx means no row; in
/// nn::functional::embedding it counts from the end. If scale_grad_by_freq, a row's gradient is divided by the number
/// of times that index names the row. @throws Error if sparse is true: there are no sparse gradients
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<int64_t> padding_idx = {},
                 detail::Flag scale_grad_by_freq = false, detail::Flag sparse = false);

/// Scales down the rows of weight that index names to the p-norm max_norm if their norm exceeds it, where p is
/// norm_type. Writes weight in place. Not recorded by autograd. embedding_renorm changes and returns a copy of
/// weight instead.
Tensor& embedding_renorm_(Tensor& weight, const Tensor& index, double max_norm, double norm_type);
inline Tensor embedding_renorm(const Tensor& weight, const Tensor& index, double max_norm, double norm_type) {
  Tensor copy = weight.detach().clone();
  return embedding_renorm_(copy, index, max_norm, norm_type);
}

namespace detail {
struct MaxTag {};
/// Returns padding_idx counted from the front, or nullopt if padding_idx is not given. @throws Error if it is not the
/// index of a row
std::optional<int64_t> wrap_padding_idx(const char* name, std::optional<int64_t> padding_idx, int64_t rows);
}  // namespace detail
/// LibTorch's constant for the maximum; the other reductions are kSum and kMean.
constexpr detail::MaxTag kMax;

}  // namespace tandem

namespace tandem::nn {

/// Reduction of a bag: kMean, kSum or kMax.
using EmbeddingBagMode = std::variant<Reduction, detail::MaxTag>;

namespace functional {

struct EmbeddingFuncOptions {
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // index of the row that gets no gradient
  TANDEM_ARG(std::optional<double>, max_norm);      // maximum norm: rows that are looked up are scaled down to it
  TANDEM_ARG(double, norm_type) = 2;                // exponent p of the norm that max_norm limits
  // whether a row's gradient is divided by the number of times that the row is looked up
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
};
struct EmbeddingBagFuncOptions {
  TANDEM_ARG(Tensor, offsets);                  // position in index at which each bag begins
  TANDEM_ARG(std::optional<double>, max_norm);  // maximum norm: rows that are looked up are scaled down to it
  TANDEM_ARG(double, norm_type) = 2;            // exponent p of the norm that max_norm limits
  // whether a row's gradient is divided by the number of times that the row is looked up
  TANDEM_ARG(bool, scale_grad_by_freq) = false;
  TANDEM_ARG(EmbeddingBagMode, mode) = Reduction::mean;  // reduction of the rows of a bag
  TANDEM_ARG(Tensor, per_sample_weights);                // factor for each index; used in mode kSum only
  TANDEM_ARG(bool, include_last_offset) = false;         // whether the last offset is the number of indices
  // index of the row that bags leave out and that gets no gradient
  TANDEM_ARG(std::optional<int64_t>, padding_idx);
};
/// tandem::embedding with index as the first argument, as in PyTorch's functional form.
/// @throws Error as tandem::embedding
Tensor embedding(const Tensor& index, const Tensor& weight, const EmbeddingFuncOptions& o = {});
/// Returns the sum, mean or elementwise maximum (B, D) of the rows of each bag. If index is (B, N), each row is a bag
/// of N indices. If index is (n), the bags begin at the offsets (B). Rows of padding_idx are left out; an empty bag
/// gives zeros. per_sample_weights, which have index's sizes and require kSum, multiply the rows.
/// @throws Error unless offsets begin with 0, do not decrease and stay within index; and for scale_grad_by_freq with
/// kMax
Tensor embedding_bag(const Tensor& index, const Tensor& weight, const EmbeddingBagFuncOptions& o = {});

}  // namespace functional

}  // namespace tandem::nn
