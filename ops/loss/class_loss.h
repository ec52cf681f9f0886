// Losses of class indices: the parts that nll_loss and cross_entropy share. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/ops/loss/reduction.h"

namespace tandem::detail {

/// x[i, target[i]]; some other element of the row where target lies outside.
Tensor at_targets(const Tensor& x, const Tensor& target);
/// Losses of rows of classes, from tensors as the kernels take them: of each row, or their mean.
using RowLoss = Tensor(const Tensor& x, const Tensor& target, const Tensor& weight, bool mean, int64_t ignore_index);
/// Room for one number for each row, in the dtype that kernels keep them in.
Tensor one_each(const Tensor& rows);
struct Averaged {
  Tensor loss, total;  // total of the weights; undefined where loss still is that of each row
};
Averaged averaged(const Tensor& losses, const Tensor& weights, bool mean);
/// Indices of uint8, which PyTorch accepts too, as int64. Other dtypes stay as they are, and are refused.
Tensor class_indices(const Tensor& target);

/// A loss of class indices: checks what it is given (x goes by `name`), and calls f with rows of classes: every
/// position is a sample of its own.
Tensor of_classes(const char* op, const char* name, const Tensor& x, const Tensor& target, const Tensor& weight,
                  Reduction reduction, int64_t ignore_index, RowLoss f);

}  // namespace tandem::detail
