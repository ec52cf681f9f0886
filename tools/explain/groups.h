// Layers whose result depends on how a batch is cut: batch norm, and dropout, which draws random numbers.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::tools::explain {

/// The rows that one replica has in one forward.
struct Group {
  size_t replica = 0;  // device or rank; its random numbers come from the stream of this number
  std::vector<int64_t> rows;
  double factor = 1;    // of its loss
  int64_t of_rows = 0;  // its loss is the sum over its rows divided by this; 0: the mean
};

bool is_batch_norm(const nn::Module& module);
bool is_dropout(const nn::Module& module);

/// From now on a layer of these kinds takes the rows of a batch group by group, as the replicas do: each with its own
/// statistics, of which the first replica's enter the running ones, and with its replica's random numbers.
/// @param groups  of the batch that comes next, in the order of its rows
void apply_in_groups(nn::Module& layer, const std::shared_ptr<std::vector<Group>>& groups);

}  // namespace tandem::tools::explain
