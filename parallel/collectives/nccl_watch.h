// Looks after what NCCL has under way, on a thread of its own: what hangs or fails is ended on every rank, with one
// error for all that says where each of them was. Internal.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "tandem/core/cuda.h"
#include "tandem/parallel/collectives/nccl_comm.h"
#include "tandem/parallel/collectives/store.h"

namespace tandem::distributed::nccl {

class NcclWatch {
 public:
  NcclWatch(int rank, int size, Device device, std::shared_ptr<StoreClient> store, std::string group,
            std::chrono::milliseconds timeout, std::shared_ptr<FirstFailure> failure);
  /// Ends the watch, and the communicators.
  ~NcclWatch();

  /// Takes a communicator over: to look for its errors, and to abort it with the group.
  NcclComm& adopt(std::unique_ptr<NcclComm> comm);
  /// This rank is at that call now.
  void called(const Call& call);
  /// The call is on the GPU; `end` comes behind it.
  void add(const Call& call, cuda::Event end, Deadline deadline);

  /// The group's first failure, on whichever rank, becomes this rank's; everything under way is ended, and who waits
  /// for the device, which then has no results worth reading, hears of it.
  void fail(const std::string& what);
  /// The same, of a call under way.
  void abort(const std::string& reason);
  /// Returns when nothing is under way any more.
  void finish();

 private:
  struct UnderWay {
    Call call;
    cuda::Event end;
    Deadline deadline;
  };
  void run();
  std::string look();
  std::string where_the_ranks_are();

  const int rank_, size_;
  const Device device_;
  const std::shared_ptr<StoreClient> store_;
  const std::string group_;
  const std::chrono::milliseconds timeout_;
  const std::shared_ptr<FirstFailure> failure_;
  std::mutex mutex_;                       // guards what follows
  std::string last_;                       // what was called last
  std::map<int64_t, UnderWay> under_way_;  // by number, the oldest first
  int64_t added_ = 0;
  std::vector<std::unique_ptr<NcclComm>> comms_;
  bool stop_ = false;
  std::condition_variable wake_;
  std::mutex failing_;
  std::thread thread_;
};

}  // namespace tandem::distributed::nccl
