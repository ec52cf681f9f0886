// Tables of rows that are looked up: Embedding, and EmbeddingBag, which reduces the rows of a bag to one.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/module.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/ops/nn/embedding.h"

namespace tandem {
namespace detail {
struct MaxTag {};
}  // namespace detail
/// LibTorch's name of the largest, beside kSum and kMean.
constexpr detail::MaxTag kMax;
}  // namespace tandem

namespace tandem::nn {

/// kMean, kSum or kMax.
using EmbeddingBagMode = std::variant<Reduction, detail::MaxTag>;

// What these have in common: padding_idx is a row that starts as zero and is not trained, counted from the end when
// negative. Before the look-up, rows whose norm_type-norm is above max_norm are scaled down to it, in the table itself.
// scale_grad_by_freq divides the gradient of a row by how often it was looked up. _weight: the table to begin with.
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);              // rows of the table
  TANDEM_ARG(int64_t, embedding_dim);               // length of a row
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // a row that gets no gradient
  TANDEM_ARG(std::optional<double>, max_norm);      // rows that are used and longer are made this long
  TANDEM_ARG(double, norm_type) = 2;                // the p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // whether a row's gradient is divided by how often the batch names it
  TANDEM_ARG(Tensor, _weight);                   // the table; drawn unless given
};
/// freeze: the table is not trained.
struct EmbeddingFromPretrainedOptions {
  TANDEM_ARG(bool, freeze) = true;                  // whether the table stays as it is
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // a row that gets no gradient
  TANDEM_ARG(std::optional<double>, max_norm);      // rows that are used and longer are made this long
  TANDEM_ARG(double, norm_type) = 2;                // the p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // whether a row's gradient is divided by how often the batch names it
};
struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);           // rows of the table
  TANDEM_ARG(int64_t, embedding_dim);            // length of a row
  TANDEM_ARG(std::optional<double>, max_norm);   // rows that are used and longer are made this long
  TANDEM_ARG(double, norm_type) = 2;             // the p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // whether a row's gradient is divided by how often the batch names it
  TANDEM_ARG_DECLARED(EmbeddingBagMode, mode) = Reduction::mean;  // how the rows of a bag become one
  TANDEM_ARG(Tensor, _weight);                                    // the table; drawn unless given
  TANDEM_ARG(bool, include_last_offset) = false;                  // offsets end with the number of indices
  TANDEM_ARG(std::optional<int64_t>, padding_idx);                // a row that its bag leaves out; it gets no gradient
};
struct EmbeddingBagFromPretrainedOptions {
  TANDEM_ARG(bool, freeze) = true;               // whether the table stays as it is
  TANDEM_ARG(std::optional<double>, max_norm);   // rows that are used and longer are made this long
  TANDEM_ARG(double, norm_type) = 2;             // the p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // whether a row's gradient is divided by how often the batch names it
  TANDEM_ARG_DECLARED(EmbeddingBagMode, mode) = Reduction::mean;  // how the rows of a bag become one
  TANDEM_ARG(bool, include_last_offset) = false;                  // whether offsets end with the number of indices
  TANDEM_ARG(std::optional<int64_t>, padding_idx);                // a row that its bag leaves out; it gets no gradient
};

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

using tandem::one_hot;

}  // namespace functional

/// Rows of a table (num_embeddings, embedding_dim) by index.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& o) : options(o) { reset(); }
  /// @throws Error unless padding_idx is a row, and _weight of the table's sizes
  void reset() override;
  /// Normal values, zero in the row of padding_idx.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// (...) int64 -> (..., embedding_dim)
  Tensor forward(const Tensor& index);
  EmbeddingOptions options;
  /// (num_embeddings, embedding_dim)
  Tensor weight;
};
extern template class Cloneable<EmbeddingImpl>;
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  /// One of a table that exists, shared with the module. @throws Error unless it has two dimensions
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

/// functional::embedding_bag of a table (num_embeddings, embedding_dim).
class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(const EmbeddingBagOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Normal values, zero in the row of padding_idx.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// index (B, N), or (n) with offsets (B) -> (B, embedding_dim)
  Tensor forward(const Tensor& index, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});
  EmbeddingBagOptions options;
  /// (num_embeddings, embedding_dim)
  Tensor weight;
};
extern template class Cloneable<EmbeddingBagImpl>;
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  /// One of a table that exists, shared with the module. @throws Error unless it has two dimensions
  static EmbeddingBag from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options = {});
};

}  // namespace tandem::nn
