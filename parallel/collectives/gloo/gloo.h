// The backend `gloo`: ranks are processes that talk over TCP, and through shared memory. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// @throws NotImplementedError in a build without Gloo, DistributedError when the ranks do not come together
ProcessGroupPtr make_gloo_group(Rendezvous job, std::chrono::milliseconds timeout);

/// Direct exchanges in rank order; beyond kDirectRanks an all_reduce over TCP of elements of 4 or 8 bytes goes round a
/// ring, which gives all ranks the same bits, but not those of rank order. Tensors on virtual CPU devices.
constexpr int kDirectRanks = 8;
std::unique_ptr<Communicator> make_gloo_communicator(Rendezvous job, std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
