// NcclWatch: watches NCCL's operations in progress, on a thread of its own. An operation that hangs or fails is ended
// on every rank, with one error for all that says which call each rank was in. Internal.
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

class NcclWatch {
 public:
  NcclWatch(const Rendezvous& job, Device device, std::chrono::milliseconds timeout,
            std::shared_ptr<FirstFailure> failure);
  /// Stops the watch, and closes the communicators.
  ~NcclWatch();

  /// Takes ownership of a communicator: polls its errors, and aborts it when the group fails.
  NcclComm& adopt(std::shared_ptr<NcclComm> comm);
  /// Records that this rank is in that call. If the ranks' collectives differ, the watch finds out within some ticks;
  /// NCCL does not compare them.
  void called(const Call& call);
  /// Records that the call is on the GPU's stream, followed by the event `end`.
  void add(const Call& call, cuda::Event end, Deadline deadline);

  /// Makes `what` the group's failure, unless a rank has failed before. Ends everything in progress, and makes waits
  /// for the device throw the failure, because its results are not valid.
  /// @param patience  time for the other ranks to report which call they are in
  void fail(const std::string& what, std::chrono::milliseconds patience = std::chrono::seconds(1));
  /// Records the ranks of the store that have left the group. May be called from any thread. A call that needs such a
  /// rank fails if it is still in progress two seconds later.
  void note_left(const LeftRanks& left);
  /// Returns when nothing is in progress any more. After a failure it waits only a short time.
  void finish();

 private:
  struct UnderWay {
    Call call;
    cuda::Event end;
    Deadline deadline;
    Clock::time_point begun = Clock::now();
  };
  /// A collective, and a hash of all collectives up to it.
  struct Called {
    Call call;
    uint64_t hash;
  };
  void run();
  std::string look();
  std::string compare_with_rank_0();
  /// Returns an error that names a rank in `left` that the call needs; "" if the call needs none of them.
  std::string missing_in(const Call& call, const LeftRanks& left) const;
  std::string where_the_ranks_are(std::chrono::milliseconds patience);

  const int rank_, size_;
  const Device device_;
  const std::shared_ptr<StoreClient> store_;
  const std::string group_;
  const MembersPtr members_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<FirstFailure> failure_;
  const std::shared_ptr<FlightLog> flight_;
  std::mutex mutex_;                       // guards what follows
  std::optional<Call> last_;               // the latest call
  uint64_t hash_ = 0;                      // hash of all collectives so far
  std::deque<Called> called_;              // collectives not yet compared with rank 0's
  std::map<int64_t, UnderWay> under_way_;  // by number, the oldest first
  LeftRanks left_;                         // ranks that have left, by rank in this group
  Clock::time_point heard_of_left_;        // time when the last of them was recorded
  int64_t added_ = 0;
  NcclComms comms_;
  bool stop_ = false;
  std::condition_variable wake_;
  std::mutex failing_;
  // The members below belong to the watch's thread.
  int64_t compared_ = 0;        // number of the last collective that was compared
  int64_t their_sequence_ = 0;  // number of rank 0's latest collective when it was read
  uint64_t their_hash_ = 0;
  std::string their_call_;
  std::thread thread_;
};

}  // namespace tandem::distributed::nccl
