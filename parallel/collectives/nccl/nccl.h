// The backend `nccl`: ranks are processes or threads, each with a GPU of its own. Internal.
#pragma once
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// Makes a group over NCCL. @throws NotImplementedError if there is no GPU or no NCCL, DistributedError if the ranks do
/// not all join
ProcessGroupPtr make_nccl_group(Rendezvous job, Device device, std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
