// Collectives through memory that the ranks share. Internal; part of builds with Gloo only.
#pragma once
#include "tandem/parallel/collectives/gloo/link.h"

namespace tandem::distributed {

/// x = the reduction over all ranks' x, in rank order, of any number of ranks. The link has shared memory.
void all_reduce_in_memory(GlooLink& link, const Call& call, Tensor& x);
/// x = that of rank call.other. The link has shared memory.
void broadcast_in_memory(GlooLink& link, const Call& call, Tensor& x);

}  // namespace tandem::distributed
