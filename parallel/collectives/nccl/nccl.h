// The backend `nccl`: ranks are processes or threads, each with a GPU of its own. Internal.
#pragma once
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// @throws NotImplementedError when there is no GPU or no NCCL, DistributedError when the ranks do not come together
ProcessGroupPtr make_nccl_group(Rendezvous job, Device device, std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
