// Collectives through memory that the ranks share. Internal; compiled only in builds with Gloo.
#pragma once
#include "tandem/parallel/collectives/gloo/link.h"

namespace tandem::distributed {

/// x = the reduction over all ranks' x, in rank order for any number of ranks. The link must have shared memory.
void all_reduce_in_shared_memory(GlooLink& link, const CollectiveCall& call, Tensor& x);
/// x = the x of rank call.root_or_peer. The link must have shared memory.
void broadcast_in_shared_memory(GlooLink& link, const CollectiveCall& call, Tensor& x);

}  // namespace tandem::distributed
