// The backend `local`: ranks are threads of one process and read each other's memory. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

/// Synchronizes the threads that are the ranks of one group.
class LocalHub;
std::shared_ptr<LocalHub> make_local_hub(int size, std::chrono::milliseconds timeout);
std::unique_ptr<Communicator> make_local_communicator(std::shared_ptr<LocalHub> hub, int rank);
/// Fails all calls in progress and all later calls, on all ranks. After the first call of this function, others have no
/// effect.
void abort_local(LocalHub& hub, const std::string& reason);

}  // namespace tandem::distributed
