// The backend `gloo`: ranks are processes that communicate over TCP and through shared memory. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// Makes a process group over Gloo. @throws NotImplementedError in a build without Gloo, DistributedError if a rank
/// does not join
ProcessGroupPtr make_gloo_group(Rendezvous job, std::chrono::milliseconds timeout);

/// Makes a communicator for tensors on the CPU or on virtual CPU devices. Ranks exchange data directly and reduce in
/// rank order. Exception: with more than kMaxDirectRanks ranks, an all_reduce over TCP of elements of 4 or 8 bytes uses
/// a ring. All ranks then get the same bits, but these differ from a reduction in rank order.
constexpr int kMaxDirectRanks = 8;
std::unique_ptr<Communicator> make_gloo_communicator(Rendezvous job, std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
