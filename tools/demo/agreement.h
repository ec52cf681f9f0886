// Checks that a parallel mode of `tandem demo` trains the same network as one device.
#pragma once
#include "tandem/tools/demo/train.h"

namespace tandem::tools {

/// Trains with Adam for `steps` steps under `mode` and, as a reference, on one device. Returns the largest absolute
/// difference between the elements of both runs' final parameters. A correct mode gives 0, because the reference sums
/// gradients in the same order as the mode. The reference for dp accumulates, shard by shard, the gradients of (sum of
/// the shard's losses) / N, where N is the batch size. The reference for ddp_* accumulates the gradients of the shards'
/// mean losses, each times ranks * rows of the shard / N, and multiplies the sums by 1 / ranks. Dropout is off, and
/// batch norm is in evaluation mode. Under DDP all ranks must call this function; rank 0 gets the result, and the other
/// ranks get 0.
/// @param modify  for tests: called with the network that was trained under `mode`, before the parameters are compared
double largest_difference(const DemoSettings& settings, const std::string& mode, const FashionMNIST& data, int steps,
                          const std::function<void(nn::Module&)>& modify = {});

}  // namespace tandem::tools
