// Shared parts of nll_loss and cross_entropy, the losses whose targets are class indices. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/ops/loss/reduction.h"

namespace tandem::detail {

/// Returns x[i, target[i]] for each row i; x[i, 0] if the target is out of range.
Tensor at_targets(const Tensor& x, const Tensor& target);
/// Function that computes a loss for rows of classes, x (rows, C), from contiguous tensors. Returns the loss of each
/// row, or the mean if `mean` is true.
using RowLoss = Tensor(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index);
/// Returns an uninitialised tensor with one element for each row, in the dtype that accumulate_type gives for rows.
Tensor one_each(const Tensor& rows);
struct Averaged {
  Tensor loss, total;  // total: sum of the weights; undefined if loss holds each row's loss
};
Averaged averaged(const Tensor& losses, const Tensor& weights, bool mean);
/// Converts uint8 indices, which PyTorch accepts too, to int64. Other dtypes are returned unchanged; of_classes refuses
/// them.
Tensor class_indices(const Tensor& target);

/// Computes a loss of class indices: checks the arguments (errors call x `name`), and calls f with rows of classes, one
/// row for each sample and position.
Tensor of_classes(const char* op, const char* name, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduction reduction, int64_t ignore_index, RowLoss f);

}  // namespace tandem::detail
