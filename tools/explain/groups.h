// Evaluates batch norm and dropout group by group, because their results depend on how a batch is split over replicas.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::tools::explain {

/// The rows that one replica has in one forward.
struct Group {
  size_t replica = 0;  // index of the device or rank, and of the random stream it draws from
  std::vector<int64_t> rows;
  double factor = 1;    // factor of the group's loss
  int64_t of_rows = 0;  // the loss is the sum over the rows divided by of_rows; 0: the mean over the rows
};

bool is_batch_norm(const nn::Module& module);
bool is_dropout(const nn::Module& module);

/// Makes a batch norm or dropout layer process a batch group by group, as replicas do. Each group uses its own batch
/// statistics and its replica's random stream. Only replica 0 updates the running statistics. Has no effect on a layer
/// in evaluation mode.
/// @param groups  groups of the next batch, in the order of its rows; read in each forward
void apply_in_groups(nn::Module& layer, const std::shared_ptr<std::vector<Group>>& groups);

}  // namespace tandem::tools::explain
