// Copies CUDA tensors through page-locked memory for a backend that supports only CPU tensors. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

/// Wraps `cpu` so that it takes CUDA tensors: copies them to page-locked memory, and the results back. CPU tensors are
/// passed on as they are. The calling thread waits for the copy to the host, but not for the copy back.
std::unique_ptr<Communicator> make_staged_communicator(int rank, std::unique_ptr<Communicator> cpu);

}  // namespace tandem::distributed
