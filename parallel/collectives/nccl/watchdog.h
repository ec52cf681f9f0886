// NcclWatchdog: monitors NCCL's operations in progress, on a separate thread. If an operation hangs or fails, it is
// ended on every rank, with one error that says which call each rank was in. Internal.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "tandem/core/cuda/cuda.h"
#include "tandem/parallel/collectives/flight_recorder.h"
#include "tandem/parallel/collectives/nccl/comm.h"
#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed::nccl {

class NcclWatchdog {
 public:
  NcclWatchdog(const Rendezvous& job, Device device, std::chrono::milliseconds timeout,
               std::shared_ptr<FirstFailure> failure);
  /// Stops the watchdog's thread, and closes the communicators.
  ~NcclWatchdog();

  /// Takes ownership of a communicator, polls its errors, and aborts it when the group fails.
  NcclComm& take_ownership(std::shared_ptr<NcclComm> comm);
  /// Records that this rank makes `call`. If the ranks' collectives differ, which NCCL does not check, the watchdog
  /// reports it after a few polls.
  void record_call(const CollectiveCall& call);
  /// Records that the call is on the GPU's stream, and that the event `end` follows it there.
  void add_in_flight(const CollectiveCall& call, cuda::Event end, Deadline deadline);

  /// Makes `what` the group's failure, unless there is an earlier one. Ends all operations in progress, and makes later
  /// waits for the device throw the failure, because results of these operations are invalid.
  /// @param grace_period  time in which the other ranks may report which call they are in
  void fail_group(const std::string& what, std::chrono::milliseconds grace_period = std::chrono::seconds(1));
  /// Records which ranks have left the group, by rank in the default group. May be called from any thread. A call that
  /// needs such a rank fails if it is still in progress two seconds later.
  void record_left_ranks(const LeftRanks& left);
  /// Waits until no operation is in progress. After a failure, waits only a short time.
  void wait_until_idle();

 private:
  struct InFlightCall {
    CollectiveCall call;
    cuda::Event end;
    Deadline deadline;
    Clock::time_point start_time = Clock::now();
  };
  /// A collective that this rank has called, and a hash of all its collectives up to that one.
  struct CalledCollective {
    CollectiveCall call;
    uint64_t hash;
  };
  void poll_until_stopped();
  std::string poll_calls();
  std::string compare_with_rank_0();
  /// Returns an error that names a rank in `left` that `call` needs; "" if it needs none of them.
  std::string describe_left_peer(const CollectiveCall& call, const LeftRanks& left) const;
  std::string describe_last_calls(std::chrono::milliseconds grace_period);

  const int rank_, size_;
  const Device device_;
  const std::shared_ptr<StoreClient> store_;
  const std::string group_name_;
  const GroupMembersPtr members_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<FirstFailure> failure_;
  const std::shared_ptr<FlightLog> flight_log_;
  std::mutex mutex_;                                     // guards the members from last_call_ to stop_
  std::optional<CollectiveCall> last_call_;              // latest call of this rank
  uint64_t calls_hash_ = 0;                              // hash of all collectives that this rank has called
  std::deque<CalledCollective> uncompared_collectives_;  // collectives not yet compared with those of rank 0
  std::map<int64_t, InFlightCall> calls_in_flight_;      // operations in progress, numbered in the order of their calls
  LeftRanks left_ranks_;              // for each rank that has left: how it left, by rank in this group
  Clock::time_point last_left_time_;  // time when the latest entry of left_ranks_ was added
  int64_t num_added_calls_ = 0;
  NcclComms comms_;
  bool stop_ = false;
  std::condition_variable wake_;
  std::mutex fail_mutex_;
  // Only the watchdog's thread uses the members from last_compared_sequence_number_ to rank_0_call_.
  int64_t last_compared_sequence_number_ = 0;  // number of the last collective that has been compared
  int64_t rank_0_sequence_ = 0;                // number of rank 0's latest collective, when last read
  uint64_t rank_0_hash_ = 0;
  std::string rank_0_call_;
  std::thread thread_;
};

}  // namespace tandem::distributed::nccl
