// NcclComm: an NCCL communicator whose calls block their thread at most until a deadline. Internal.
#pragma once
#include <mutex>

#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/nccl/api.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed::nccl {

/// An NCCL communicator. Only one thread at a time may make calls, but other threads may call abort() and
/// get_async_error() at the same time.
class NcclComm {
 public:
  /// Connects to the other ranks.
  /// @param failure  ends every wait once it is set; the code that sets it must also call abort()
  /// @throws DistributedError
  static std::shared_ptr<NcclComm> connect(const Library& lib, int rank, int size, const UniqueId& id, Device device,
                                           Deadline deadline, std::shared_ptr<const FirstFailure> failure);
  NcclComm(const NcclComm&) = delete;

  /// Runs f(comm), which calls one or several functions of the library, on the communicator's device. Waits until NCCL
  /// has accepted the call.
  /// @param name  name of the function, for error messages
  void call_library(const char* name, Deadline deadline, const std::function<Result(Comm)>& f);
  /// Returns an asynchronous error of the GPU or of NCCL's threads; empty if there is none.
  std::string get_async_error();
  /// Completes the calls in progress and closes the communicator, which all ranks must do together. If that fails,
  /// aborts it. May wait for all ranks.
  void close() noexcept;
  /// Ends all calls in progress. The communicator cannot be used afterwards. May wait for the GPU.
  void abort() noexcept;

 private:
  NcclComm(const Library& lib, Device device, std::shared_ptr<const FirstFailure> failure)
      : lib_(lib), device_(device), failure_(std::move(failure)) {}
  void end_comm(Result (*end_function)(Comm)) noexcept;
  /// Returns the text of an error, such as "unhandled cuda error (details from NCCL)".
  std::string error_text(Result result) const;
  void wait_until_accepted(const char* name, Deadline deadline, Result result);

  const Library& lib_;
  const Device device_;
  const std::shared_ptr<const FirstFailure> failure_;
  // held during every call of the library, because these calls do not block; not held by the call that ends comm_
  std::mutex mutex_;
  Comm comm_ = nullptr;  // null after close() or abort()
};

using NcclComms = std::vector<std::shared_ptr<NcclComm>>;
/// Closes or aborts all communicators, in parallel, because one may wait for another on this or another rank. Returns
/// after some seconds at most; detached threads do the rest.
void close_or_abort_all(const NcclComms& comms, void (NcclComm::*end)() noexcept);

}  // namespace tandem::distributed::nccl
