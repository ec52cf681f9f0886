// Proof that a parallel way trains the same network as one device does.
#pragma once
#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// The largest difference of any parameter after `steps` steps of Adam by `mode` and by its reference, which are equal
/// to the bit: of dp, one device that accumulates the gradients of (sum of the shard's losses) / N, shard by shard; of
/// ddp_*, one that accumulates the gradients of the shards' mean losses and multiplies them by 1 / ranks. Dropout is
/// off and batch norm in evaluation. In DDP all ranks call it, and rank 0 gets the figure.
/// @param meddle  called with the network that was trained by `mode`, before it is compared: for tests
double largest_difference(const DemoSettings& settings, const std::string& mode, const FashionMNIST& data, int steps,
                          const std::function<void(nn::Module&)>& meddle = {});

}  // namespace tandem::tools
