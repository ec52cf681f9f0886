// Rendezvous: the ranks of a group find each other through the job's store, whose address is in the environment or
// comes from run_ranks. Internal.
#pragma once
#include <atomic>
#include <thread>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed {

/// One rank's information about the group that it joins.
struct Rendezvous {
  int rank = 0, size = 1;
  std::shared_ptr<StoreClient> store;
  std::string name = "0";  // name in the store, equal on the group's ranks and unique in the job
  std::shared_ptr<StoreServer> server =
      nullptr;  // null unless this rank hosts the store; StoreHost keeps it alive a little
  /// Separate connection to the store for the watchdog.
  std::unique_ptr<StoreClient> watch = nullptr;
  bool is_process = false;    // the rank is a process, which its watchdog may end
  bool has_launcher = false;  // `tandem launch` started the rank, and reports its exit status
  MembersPtr members = nullptr;
  /// As Communicator::told(). A group shares it with the groups made from it, because they fail together.
  std::shared_ptr<std::atomic<bool>> told = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<FlightLog> flight = nullptr;  // this rank's log; a new one if null
  bool shared_memory = true;                    // may be used if all ranks are on one machine; only gloo does

  /// This rank's number among all ranks of the store.
  int global() const { return global_rank(rank, members); }
  /// Makes the Rendezvous of a group of some of this group's ranks. It uses the same store.
  Rendezvous subgroup(const std::string& number, int its_rank, MembersPtr its_members,
                      std::chrono::milliseconds timeout) const;
};

/// Finds the job's store by the options and the environment, or hosts it, and returns the group made by `make`.
ProcessGroupPtr meet_by_environment(const InitOptions& options, const std::function<ProcessGroupPtr(Rendezvous)>& make);

/// Waits for a key of the group. Returns nullopt at the deadline, or once `is_hopeless` returns true.
/// @throws DistributedError with the failure of the job or of the group, if there is one by then
std::optional<std::string> find_unless_failed(StoreClient& store, const std::string& group, const std::string& key,
                                              Deadline deadline, const std::function<bool()>& is_hopeless = nullptr);

/// Claims this rank's place in a group that is not made from another group. Call this before anything else tells the
/// store of the rank. A process that is refused here does not disturb the group's other ranks, even if it belongs to
/// another job.
/// @throws DistributedError naming the process that has the place, or a rank with another number of ranks
void take_place(const Rendezvous& job);

/// Waits for all ranks of the group; each of them has called take_place() before. Returns the ranks' contacts, by rank.
/// @throws DistributedError naming the rank that did not come, and a process that was refused meanwhile
std::vector<std::string> wait_for_all_ranks(StoreClient& store, const std::string& group, int rank, int size,
                                            std::chrono::milliseconds timeout, const std::string& contact = {},
                                            const MembersPtr& members = nullptr);

/// Returns the name of this machine.
std::string host_name();
/// Returns the key that a rank of a group sets to announce itself.
std::string came_key(const std::string& group, int rank);
/// Returns where a rank runs, as text to append to an error: " (rank 1 is process 4711 on node-b)".
/// @param came  the value that the rank set under came_key(); if there is none, the text is ""
[[gnu::cold]] std::string whereabouts(int rank, const std::optional<std::string>& came);

/// Tells the store that a rank leaves the group, so that it does not count as lost. `rank` is the number among all
/// ranks of the store. Has no effect if the store is gone.
void leave_in_order(StoreClient& store, const std::string& group, int rank) noexcept;

/// Keeps the store that this rank hosts alive for a while after a failure, so that late ranks can still read the cause.
struct StoreHost {
  std::shared_ptr<StoreServer> server;
  bool failed = true, all_came = false;
  ~StoreHost() {
    constexpr std::chrono::milliseconds kLinger(300);
    if (!server || !failed) return;
    if (all_came)
      server->wait_for_clients_to_leave(kLinger);
    else
      std::this_thread::sleep_for(kLinger);
  }
};

}  // namespace tandem::distributed
