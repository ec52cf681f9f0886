// NcclComm: an NCCL communicator whose calls never block their thread beyond a deadline. Internal.
#pragma once
#include <mutex>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed::nccl {

/// One thread at a time makes calls. Other threads may call abort() and problem() meanwhile.
class NcclComm {
 public:
  /// Connects to the other ranks.
  /// @param failure  ends every wait once it is set; the code that sets it must also call abort()
  /// @throws DistributedError
  static std::shared_ptr<NcclComm> connect(const Library& lib, int rank, int size, const UniqueId& id, Device device,
                                           Deadline deadline, std::shared_ptr<const FirstFailure> failure);
  NcclComm(const NcclComm&) = delete;

  /// Runs f(comm), one of the library's functions or several in a group, on the communicator's device, and waits until
  /// NCCL has accepted it.
  /// @param name  name of the function, for errors
  void call(const char* name, Deadline deadline, const std::function<Result(Comm)>& f);
  /// Returns an error of the GPU or of NCCL's threads; empty if there is none.
  std::string problem();
  /// Closes the communicator after its calls in progress, together with all ranks, or aborts it if that fails. May wait
  /// for all ranks.
  void close() noexcept;
  /// Ends all calls in progress, for good. May wait for the GPU.
  void abort() noexcept;

 private:
  NcclComm(const Library& lib, Device device, std::shared_ptr<const FirstFailure> failure)
      : lib_(lib), device_(device), failure_(std::move(failure)) {}
  void end(Result (*how)(Comm)) noexcept;
  /// Returns "unhandled cuda error (details from NCCL)".
  std::string text(Result result) const;
  void settle(const char* name, Deadline deadline, Result result);

  const Library& lib_;
  const Device device_;
  const std::shared_ptr<const FirstFailure> failure_;
  std::mutex mutex_;     // held in every call of the library but the one that ends comm_; these calls do not block
  Comm comm_ = nullptr;  // null once ended
};

using NcclComms = std::vector<std::shared_ptr<NcclComm>>;
/// Closes or aborts all communicators in parallel, because one may wait for another, here or on another rank. Returns
/// after some seconds at most; a detached thread finishes the rest.
void end_all(const NcclComms& comms, void (NcclComm::*end)() noexcept);

}  // namespace tandem::distributed::nccl
