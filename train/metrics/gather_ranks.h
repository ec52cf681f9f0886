// Gathers tensors whose first dimension differs between ranks. Internal.
#pragma once
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::metrics {

/// Returns the tensors of all ranks of the group that have one, in rank order, on group->device(). All ranks must call
/// it. Shapes may differ.
/// @param x      this rank's tensor; undefined if it has none
/// @param about  name of the tensor in error messages
/// @throws Error on all ranks if the dtypes differ
std::vector<Tensor> gather_ranks(const distributed::ProcessGroupPtr& group, const Tensor& x, const std::string& about);

}  // namespace tandem::metrics
