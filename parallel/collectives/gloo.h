// The backend `gloo`: ranks are processes that talk over TCP. Internal.
#pragma once
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/store.h"

namespace tandem::distributed {

/// Finds the store of the job that the options and the environment describe, or hosts it, and makes the group.
/// @throws NotImplementedError in a build without Gloo
ProcessGroupPtr make_gloo_group(const InitOptions& options);

/// How the ranks of a group reach each other.
struct GlooJob {
  std::shared_ptr<StoreClient> store;
  std::string name = "0";  // in the store: the same for the group's ranks, and for no other group
  std::shared_ptr<StoreServer> server = nullptr;  // where this rank hosts the store; lives a little longer than it
  std::unique_ptr<StoreClient> launcher =
      nullptr;  // a connection of its own for the watchdog, where there is a launcher
};
/// Direct exchanges in rank order; beyond kDirectRanks an all_reduce of elements of 4 or 8 bytes goes through Gloo's
/// ring, which gives all ranks the same bits, but not those of rank order.
constexpr int kDirectRanks = 8;
/// @throws NotImplementedError in a build without Gloo, DistributedError when the ranks do not come together
std::unique_ptr<Communicator> make_gloo_communicator(int rank, int size, GlooJob job,
                                                     std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
