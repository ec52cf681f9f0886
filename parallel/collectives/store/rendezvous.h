// How the ranks of a group find each other: through the job's store, which the environment or run_ranks names.
// Internal.
#pragma once
#include <atomic>
#include <thread>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed {

/// What one rank knows of the group that it joins.
struct Rendezvous {
  int rank = 0, size = 1;
  std::shared_ptr<StoreClient> store;
  std::string name = "0";  // in the store: the same for the group's ranks, and for no other group
  std::shared_ptr<StoreServer> server =
      nullptr;  // where this rank hosts the store; lives a little longer than the group
  /// A connection of its own for the watchdog.
  std::unique_ptr<StoreClient> watch = nullptr;
  bool is_process = false;    // the rank, which its watchdog may end
  bool has_launcher = false;  // `tandem launch` started the rank, and reports its exit status
  MembersPtr members = nullptr;
  /// As Communicator::told(); whoever hears of the failure of one group has heard of those that it was made from.
  std::shared_ptr<std::atomic<bool>> told = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<FlightLog> flight = nullptr;  // this rank's; made with the group where there is none yet
  bool shared_memory = true;                    // where all ranks are on one machine; gloo alone takes it

  /// This rank among all of the store's.
  int global() const { return global_rank(rank, members); }
  /// What a rank knows of a group made of some of this one's ranks: it meets at the same store.
  Rendezvous subgroup(const std::string& number, int its_rank, MembersPtr its_members,
                      std::chrono::milliseconds timeout) const;
};

/// Finds the store of the job that the options and the environment describe, or hosts it, and returns what `make` makes
/// of it.
ProcessGroupPtr meet_by_environment(const InitOptions& options, const std::function<ProcessGroupPtr(Rendezvous)>& make);

/// Waits for a key of the group's; nothing when it did not come until the deadline, or once `is_hopeless` says that it
/// will not. @throws DistributedError with the failure of the job or of the group when there is one by then
std::optional<std::string> find_unless_failed(StoreClient& store, const std::string& group, const std::string& key,
                                              Deadline deadline, const std::function<bool()>& is_hopeless = nullptr);

/// Takes this rank's place in a group that is made from no other, before anything else tells the store of the rank. A
/// process that is refused here leaves the group's other ranks as they are, also if it belongs to another job.
/// @throws DistributedError naming the process that has the place, or a rank that counts other ranks
void take_place(const Rendezvous& job);

/// Waits for all ranks of the group; all take their places first. Returns the ranks' contacts, by rank.
/// @throws DistributedError naming the rank that did not come, and a process that was refused meanwhile
std::vector<std::string> wait_for_all_ranks(StoreClient& store, const std::string& group, int rank, int size,
                                            std::chrono::milliseconds timeout, const std::string& contact = {},
                                            const MembersPtr& members = nullptr);

/// The name of this machine.
std::string host_name();
/// Under which a rank of a group says that it has come.
std::string came_key(const std::string& group, int rank);
/// For the end of an error: " (rank 1 is process 4711 on node-b)", from what it said when it came; "" if that is not
/// known.
[[gnu::cold]] std::string whereabouts(int rank, const std::optional<std::string>& came);

/// Says that the rank, one of all the store's, leaves the group in order, if the store is there to hear it.
void leave_in_order(StoreClient& store, const std::string& group, int rank) noexcept;

/// Keeps the store that this rank hosts for a while after a failure: those who come late may still ask for the cause.
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
