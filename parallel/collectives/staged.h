// Lets a backend that supports only CPU tensors take CUDA tensors, by copies through page-locked memory. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

/// Wraps `cpu` in a communicator that also takes CUDA tensors: it copies them to page-locked memory, and the results
/// back. CPU tensors are passed on unchanged. A call waits for the copy to the host, but not for the copy back.
std::unique_ptr<Communicator> make_staged_communicator(int rank, std::unique_ptr<Communicator> cpu);

}  // namespace tandem::distributed
