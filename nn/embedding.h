// Embedding looks up rows of a table by index; EmbeddingBag reduces the rows of each bag of indices to one row.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/module.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/nn/embedding.h"

namespace tandem::detail {
/// @throws NotImplementedError if `wanted`
void refuse_sparse_gradients(bool wanted);
}  // namespace tandem::detail
namespace tandem::nn {

// Options that the structs below share. padding_idx: a row that starts as zeros, unless a table is given, and is not
// trained; a negative index counts from the end. max_norm: before a lookup, rows to be looked up whose norm_type-norm
// exceeds max_norm are scaled down to it, in the table. scale_grad_by_freq: divides a row's gradient by its number of
// lookups in the batch. _weight: the initial table.
struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);              // number of rows of the table
  TANDEM_ARG(int64_t, embedding_dim);               // number of features in a row
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // index of a row that gets no gradient
  TANDEM_ARG(std::optional<double>, max_norm);      // looked-up rows with a larger norm are scaled to this norm
  TANDEM_ARG(double, norm_type) = 2;                // order p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;     // if true, divides a row's gradient by its number of lookups
  TANDEM_ARG(Tensor, _weight);                      // initial table; if undefined, drawn at random

 public:
  /// @throws NotImplementedError for true: gradients are dense
  EmbeddingOptions& sparse(bool wanted) { return detail::refuse_sparse_gradients(wanted), *this; }
  bool sparse() const { return false; }
};
/// freeze: if true, the table is not trained.
struct EmbeddingFromPretrainedOptions {
  TANDEM_ARG(bool, freeze) = true;                  // if true, the table is not trained
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // index of a row that gets no gradient
  TANDEM_ARG(std::optional<double>, max_norm);      // looked-up rows with a larger norm are scaled to this norm
  TANDEM_ARG(double, norm_type) = 2;                // order p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;     // if true, divides a row's gradient by its number of lookups

 public:
  /// @throws NotImplementedError for true: gradients are dense
  EmbeddingFromPretrainedOptions& sparse(bool wanted) { return detail::refuse_sparse_gradients(wanted), *this; }
  bool sparse() const { return false; }
};
struct EmbeddingBagOptions {
  EmbeddingBagOptions(int64_t num_embeddings, int64_t embedding_dim)
      : num_embeddings_(num_embeddings), embedding_dim_(embedding_dim) {}
  TANDEM_ARG(int64_t, num_embeddings);           // number of rows of the table
  TANDEM_ARG(int64_t, embedding_dim);            // number of features in a row
  TANDEM_ARG(std::optional<double>, max_norm);   // looked-up rows with a larger norm are scaled to this norm
  TANDEM_ARG(double, norm_type) = 2;             // order p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // if true, divides a row's gradient by its number of lookups
  TANDEM_ARG_DECLARED(EmbeddingBagMode, mode) = Reduction::mean;  // how a bag's rows are reduced: kSum, kMean or kMax
  TANDEM_ARG(Tensor, _weight);                                    // initial table; if undefined, drawn at random
  TANDEM_ARG(bool, include_last_offset) = false;                  // if true, the last offset is the number of indices
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // index of a row that is left out and gets no gradient

 public:
  /// @throws NotImplementedError for true: gradients are dense
  EmbeddingBagOptions& sparse(bool wanted) { return detail::refuse_sparse_gradients(wanted), *this; }
  bool sparse() const { return false; }
};
struct EmbeddingBagFromPretrainedOptions {
  TANDEM_ARG(bool, freeze) = true;               // if true, the table is not trained
  TANDEM_ARG(std::optional<double>, max_norm);   // looked-up rows with a larger norm are scaled to this norm
  TANDEM_ARG(double, norm_type) = 2;             // order p of the norm
  TANDEM_ARG(bool, scale_grad_by_freq) = false;  // if true, divides a row's gradient by its number of lookups
  TANDEM_ARG_DECLARED(EmbeddingBagMode, mode) = Reduction::mean;  // how a bag's rows are reduced: kSum, kMean or kMax
  TANDEM_ARG(bool, include_last_offset) = false;                  // if true, the last offset is the number of indices
  TANDEM_ARG(std::optional<int64_t>, padding_idx);  // index of a row that is left out and gets no gradient

 public:
  /// @throws NotImplementedError for true: gradients are dense
  EmbeddingBagFromPretrainedOptions& sparse(bool wanted) { return detail::refuse_sparse_gradients(wanted), *this; }
  bool sparse() const { return false; }
};

namespace functional {

using tandem::one_hot;

}  // namespace functional

/// Looks up rows of a table (num_embeddings, embedding_dim) by index.
class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
 public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingImpl(EmbeddingOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingImpl(const EmbeddingOptions& o) : options(o) { reset(); }
  /// @throws Error unless padding_idx is the index of a row, and _weight, if set, is (num_embeddings, embedding_dim)
  void reset() override;
  /// Draws the table from a normal distribution; the row padding_idx becomes zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Looks up rows: integer index (...) -> (..., embedding_dim).
  Tensor forward(const Tensor& index);
  EmbeddingOptions options;
  /// The table, (num_embeddings, embedding_dim).
  Tensor weight;
};
extern template class Cloneable<EmbeddingImpl>;
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  /// Makes a module that shares the given table. @throws Error unless `embeddings` has two dimensions
  static Embedding from_pretrained(const Tensor& embeddings, const EmbeddingFromPretrainedOptions& options = {});
};

/// Applies functional::embedding_bag to a table (num_embeddings, embedding_dim).
class EmbeddingBagImpl : public Cloneable<EmbeddingBagImpl> {
 public:
  EmbeddingBagImpl(int64_t num_embeddings, int64_t embedding_dim)
      : EmbeddingBagImpl(EmbeddingBagOptions(num_embeddings, embedding_dim)) {}
  explicit EmbeddingBagImpl(const EmbeddingBagOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Draws the table from a normal distribution; the row padding_idx becomes zeros.
  void reset_parameters();
  void pretty_print(std::ostream& out) const override;
  /// Reduces bags: index (B, N), or index (n) with offsets (B) -> (B, embedding_dim).
  Tensor forward(const Tensor& index, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});
  EmbeddingBagOptions options;
  /// The table, (num_embeddings, embedding_dim).
  Tensor weight;
};
extern template class Cloneable<EmbeddingBagImpl>;
class EmbeddingBag : public ModuleHolder<EmbeddingBagImpl> {
 public:
  using ModuleHolder<EmbeddingBagImpl>::ModuleHolder;
  /// Makes a module that shares the given table. @throws Error unless `embeddings` has two dimensions
  static EmbeddingBag from_pretrained(const Tensor& embeddings, const EmbeddingBagFromPretrainedOptions& options = {});
};

}  // namespace tandem::nn
