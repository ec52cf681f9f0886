// Runs batch norm and dropout group by group, because their results depend on how a batch is split over replicas.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::tools::explain {

/// The rows of a batch that one replica processes in one forward.
struct RowGroup {
  /// Index of the replica's device or rank, and of the random-number stream from which the replica draws.
  size_t replica = 0;
  std::vector<int64_t> rows;
  double loss_factor = 1;  // factor by which the group's loss is multiplied
  /// If not 0, the group's loss is the sum over its rows divided by loss_divisor. If 0, it is the mean over its rows.
  int64_t loss_divisor = 0;
};

bool is_batch_norm(const nn::Module& module);
bool is_dropout(const nn::Module& module);

/// Makes a batch norm or dropout layer process a batch group by group, as replicas do. Each group uses its own batch
/// statistics and its replica's random-number stream. Only replica 0 updates the running statistics. Has no effect on a
/// layer in evaluation mode.
/// @param groups  groups of the next batch, in the order of its rows; read in each forward
void apply_in_groups(nn::Module& layer, const std::shared_ptr<std::vector<RowGroup>>& groups);

}  // namespace tandem::tools::explain
