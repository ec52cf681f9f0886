// Checks that a parallel mode of `tandem demo` trains the same network as one device.
#pragma once
#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// Trains with Adam for `steps` steps under `mode`, and on one device as its reference; returns the largest absolute
/// difference of any parameter. A correct mode gives 0, because the reference sums in the mode's order. The reference
/// of dp accumulates, shard by shard, the gradients of (sum of the shard's losses) / N. The reference of ddp_*
/// accumulates the gradients of the shards' mean losses and multiplies them by 1 / ranks. Dropout is off, and batch
/// norm is in evaluation mode. Under DDP all ranks must call this; rank 0 gets the result, the others 0.
/// @param meddle  for tests: called with the network trained under `mode` before the comparison
double largest_difference(const DemoSettings& settings, const std::string& mode, const FashionMNIST& data, int steps,
                          const std::function<void(nn::Module&)>& meddle = {});

}  // namespace tandem::tools
