// CUDA tensors for a backend that knows the CPU alone. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"

namespace tandem::distributed {

/// Brings CUDA tensors to page-locked memory and what came of them back; CPU tensors go on as they are. The thread that
/// calls waits for the way there, not for the way back.
std::unique_ptr<Communicator> make_staged_communicator(int rank, std::unique_ptr<Communicator> cpu);

}  // namespace tandem::distributed
