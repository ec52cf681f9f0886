// Shared parts of nll_loss and cross_entropy, the losses whose targets are class indices. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/ops/loss/reduction.h"

namespace tandem::detail {

/// Returns x[i, target[i]] for each row i; x[i, 0] if the target is out of range.
Tensor gather_targets(const Tensor& x, const Tensor& target);
/// Function that computes a loss for rows of classes, x (rows, C), from contiguous tensors. Returns the loss of each
/// row, or the mean if `mean` is true.
using RowLoss = Tensor(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index);
/// Returns an uninitialised tensor with one element for each row, in the dtype that accumulate_type gives for rows.
Tensor empty_per_row(const Tensor& rows);
struct WeightedMean {
  // total_weight: sum of the weights; undefined if `loss` holds the loss of each row instead of the mean
  Tensor loss, total_weight;
};
WeightedMean weighted_mean(const Tensor& losses, const Tensor& weights, bool mean);
/// Converts uint8 indices, which PyTorch accepts too, to int64. Other dtypes are returned unchanged; compute_class_loss
/// refuses them.
Tensor to_class_indices(const Tensor& target);

/// Computes a loss of class indices: checks the arguments (errors call x `name`), and calls f with rows of classes, one
/// row for each sample and position.
Tensor compute_class_loss(const char* op, const char* name, const Tensor& x, const Tensor& target, const Tensor& weight,
                          Reduction reduction, int64_t ignore_index, RowLoss f);

}  // namespace tandem::detail
