// Looks after what NCCL has under way, on a thread of its own: what hangs or fails is ended on every rank, with one
// error for all that says where each of them was. Internal.
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
  /// Ends the watch, and the communicators.
  ~NcclWatch();

  /// Takes a communicator over: to look for its errors, and to abort it with the group.
  NcclComm& adopt(std::shared_ptr<NcclComm> comm);
  /// This rank is at that call now. Ranks whose collectives differ are found within some ticks: NCCL does not compare.
  void called(const Call& call);
  /// The call is on the GPU; `end` comes behind it.
  void add(const Call& call, cuda::Event end, Deadline deadline);

  /// The group's first failure, on whichever rank, becomes this rank's; everything under way is ended, and who waits
  /// for the device, which then has no results worth reading, hears of it.
  /// @param patience  for the other ranks to say where they are
  void fail(const std::string& what, std::chrono::milliseconds patience = std::chrono::seconds(1));
  /// From any thread: takes note of the store's ranks that have left the group. A call that needs such a rank and is
  /// still under way two seconds later fails.
  void note_left(const LeftRanks& left);
  /// Returns when nothing is under way any more, or when a failure does not end it.
  void finish();

 private:
  struct UnderWay {
    Call call;
    cuda::Event end;
    Deadline deadline;
    Clock::time_point begun = Clock::now();
  };
  /// A collective, and what sums up all of them so far.
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
  std::optional<Call> last_;               // what was called last
  uint64_t hash_ = 0;                      // of all collectives so far
  std::deque<Called> called_;              // those not yet compared with rank 0's
  std::map<int64_t, UnderWay> under_way_;  // by number, the oldest first
  LeftRanks left_;                         // of this group's ranks, by rank in it
  Clock::time_point heard_of_left_;        // of the last of them
  int64_t added_ = 0;
  NcclComms comms_;
  bool stop_ = false;
  std::condition_variable wake_;
  std::mutex failing_;
  // These belong to the watch's thread.
  int64_t compared_ = 0;        // the last collective that was compared
  int64_t their_sequence_ = 0;  // of rank 0's last one when it was read
  uint64_t their_hash_ = 0;
  std::string their_call_;
  std::thread thread_;
};

}  // namespace tandem::distributed::nccl
