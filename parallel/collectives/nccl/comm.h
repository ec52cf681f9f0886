// One NCCL communicator that never blocks its thread for longer than a deadline. Internal.
#pragma once
#include <mutex>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed::nccl {

/// Calls are made by one thread at a time; abort() and problem() may come from others meanwhile.
class NcclComm {
 public:
  /// Comes together with the other ranks. `failure`: what ends every wait once it is set; whoever sets it calls
  /// abort().
  /// @throws DistributedError
  static std::shared_ptr<NcclComm> connect(const Library& lib, int rank, int size, const UniqueId& id, Device device,
                                           Deadline deadline, std::shared_ptr<const FirstFailure> failure);
  NcclComm(const NcclComm&) = delete;

  /// Runs f(comm), one of the library's functions or several in a group, on the communicator's device, and waits until
  /// NCCL has taken it in. `name`: of the function, for errors.
  void call(const char* name, Deadline deadline, const std::function<Result(Comm)>& f);
  /// What went wrong on the GPU or in NCCL's threads; empty if nothing did.
  std::string problem();
  /// Leaves the others in peace where it can: what is under way is done first, and the ranks go together. It may wait
  /// for all of them.
  void close() noexcept;
  /// Ends what is under way, for good. It may wait for the GPU.
  void abort() noexcept;

 private:
  NcclComm(const Library& lib, Device device, std::shared_ptr<const FirstFailure> failure)
      : lib_(lib), device_(device), failure_(std::move(failure)) {}
  void end(Result (*how)(Comm)) noexcept;
  /// "unhandled cuda error: what NCCL says more"
  std::string text(Result result) const;
  void settle(const char* name, Deadline deadline, Result result);

  const Library& lib_;
  const Device device_;
  const std::shared_ptr<const FirstFailure> failure_;
  std::mutex mutex_;     // of every call of the library but the last, none of which blocks
  Comm comm_ = nullptr;  // null once ended
};

using NcclComms = std::vector<std::shared_ptr<NcclComm>>;
/// Closes or aborts all of them side by side: one may wait for what another holds, here or on another rank. What is not
/// done within some seconds is left to a thread of its own, so that this returns whatever happens.
void end_all(const NcclComms& comms, void (NcclComm::*end)() noexcept);

}  // namespace tandem::distributed::nccl
