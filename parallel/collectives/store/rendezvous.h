// Rendezvous: the ranks of a group find each other through the job's store. The store's address is in the environment
// or comes from run_ranks. Internal.
#pragma once
#include <atomic>
#include <thread>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed {

/// Data that a rank needs to join a group.
struct Rendezvous {
  int rank = 0, size = 1;
  std::shared_ptr<StoreClient> store;
  std::string name = "0";  // name of the group in the store: the same on all its ranks, and unique in the job
  std::shared_ptr<StoreServer> server =
      nullptr;  // null unless this rank hosts the store; StoreHost may keep the server alive after a failure
  /// Separate connection to the store for the watchdog.
  std::unique_ptr<StoreClient> watchdog_store = nullptr;
  bool is_process = false;    // true if the rank is a process of its own, which the watchdog may end
  bool has_launcher = false;  // true if `tandem launch` has started the rank; it then reports the rank's exit status
  GroupMembersPtr members = nullptr;
  /// Value of Communicator::failure_reported(). Groups made from this group share it, because they all fail together.
  std::shared_ptr<std::atomic<bool>> failure_reported = std::make_shared<std::atomic<bool>>(false);
  // log of this rank's last calls (flight record); if null, the group makes a new log
  std::shared_ptr<FlightLog> flight_log = nullptr;
  bool allows_shared_memory = true;  // true if ranks on one machine may use shared memory; read by gloo only

  /// Returns this rank's rank in the default group.
  int default_group_rank() const { return global_rank(rank, members); }
  /// Makes the Rendezvous of a group whose members are ranks of this group. It uses the same store.
  Rendezvous make_subgroup(const std::string& number, int subgroup_rank, GroupMembersPtr subgroup_members,
                           std::chrono::milliseconds timeout) const;
};

/// Finds or hosts the job's store, as the options and the environment specify. Then calls make(), and returns the group
/// that it makes.
ProcessGroupPtr rendezvous_from_environment(const InitOptions& options,
                                            const std::function<ProcessGroupPtr(Rendezvous)>& make);

/// Waits for a key of the group's store. Returns nullopt at the deadline, or when is_hopeless() returns true.
/// @throws DistributedError with the failure of the job or of the group, if one of them fails before that
std::optional<std::string> find_unless_failed(StoreClient& store, const std::string& group, const std::string& key,
                                              Deadline deadline, const std::function<bool()>& is_hopeless = nullptr);

/// Registers this rank in a group that is not made from another group. Call this before any other request that tells
/// the store of the rank. A process that is rejected here does not disturb the group's other ranks, even if it belongs
/// to another job.
/// @throws DistributedError naming the process that has already registered as this rank, or a rank that was started
/// with another number of ranks
void register_rank(const Rendezvous& job);

/// Announces this rank and waits for all other ranks of the group, which must have called register_rank(). Returns the
/// `contact` of each rank, by rank.
/// @throws DistributedError naming the rank that did not come, and a process that was rejected meanwhile
std::vector<std::string> wait_for_all_ranks(StoreClient& store, const std::string& group, int rank, int size,
                                            std::chrono::milliseconds timeout, const std::string& contact = {},
                                            const GroupMembersPtr& members = nullptr);

/// Returns the name of this machine.
std::string host_name();
/// Returns the key that a rank of a group sets when it has joined.
std::string joined_key(const std::string& group, int rank);
/// Describes where a rank runs, as text to append to an error: " (rank 1 is process 4711 on node-b)".
/// @param joined  value that the rank has set under joined_key(); if there is none, the text is ""
[[gnu::cold]] std::string location_text(int rank, const std::optional<std::string>& joined);

/// Tells the store that a rank leaves the group, so that it does not count as lost. `rank` is a rank of the default
/// group. Has no effect if the store is gone.
void leave_group(StoreClient& store, const std::string& group, int rank) noexcept;

/// Keeps the store that this rank hosts alive for a short time after a failure, so that late ranks can still read the
/// cause.
struct StoreHost {
  std::shared_ptr<StoreServer> server;
  bool failed = true, all_joined = false;
  ~StoreHost() {
    constexpr std::chrono::milliseconds kLingerTime(300);
    if (!server || !failed) return;
    if (all_joined)
      server->wait_for_clients_to_leave(kLingerTime);
    else
      std::this_thread::sleep_for(kLingerTime);
  }
};

}  // namespace tandem::distributed
