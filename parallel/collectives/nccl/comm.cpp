// Implements NcclComm: connects, waits until NCCL has accepted a call or until a deadline, and aborts or closes the
// communicator.
#include "tandem/parallel/collectives/nccl/comm.h"

#include <future>

#include "tandem/core/threads/start_thread.h"

namespace tandem::distributed::nccl {
namespace {
using std::chrono::microseconds;
constexpr microseconds kMinPollDelay(20), kMaxPollDelay(2000);
constexpr std::chrono::seconds kLeaveTimeout(10);
}  // namespace

std::shared_ptr<NcclComm> NcclComm::connect(const Library& lib, int rank, int size, const UniqueId& id, Device device,
                                            Deadline deadline, std::shared_ptr<const FirstFailure> failure) {
  const std::shared_ptr<NcclComm> made(new NcclComm(lib, device, std::move(failure)));
  try {
    Config config;
    Result result;
    {
      const gpu::DeviceGuard guard(device.index());
      result = lib.ncclCommInitRankConfig(&made->comm_, size, id, rank, &config);
    }
    made->wait_until_accepted("ncclCommInitRankConfig", deadline, result);
  } catch (...) {
    close_or_abort_all({made}, &NcclComm::abort);
    throw;
  }
  return made;
}

void NcclComm::call_library(const char* name, Deadline deadline, const std::function<Result(Comm)>& f) {
  Result result;
  {
    const std::lock_guard lock(mutex_);
    failure_->throw_if_set();
    TANDEM_CHECK_AS(DistributedError, comm_, name,
                    ": the communicator was aborted after an earlier failure; make a new process group");
    const gpu::DeviceGuard guard(device_.index());
    result = f(comm_);
  }
  wait_until_accepted(name, deadline, result);
}

void NcclComm::wait_until_accepted(const char* name, Deadline deadline, Result result) {
  for (microseconds pause = kMinPollDelay; result == Result::in_progress; pause = std::min(2 * pause, kMaxPollDelay)) {
    failure_->throw_if_set();
    TANDEM_CHECK_AS(DistributedError, Clock::now() < deadline, name,
                    " did not finish before the timeout of its group; is each rank of the group in this call?");
    std::this_thread::sleep_for(pause);
    const std::lock_guard lock(mutex_);
    TANDEM_CHECK_AS(DistributedError, comm_, name,
                    ": the communicator was aborted after an earlier failure; make a new process group");
    Result now = Result::success;
    result = lib_.ncclCommGetAsyncError(comm_, &now);
    if (result == Result::success) result = now;
  }
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK_AS(DistributedError, result == Result::success, name, ": ", error_text(result));
}

std::string NcclComm::get_async_error() {
  const std::lock_guard lock(mutex_);
  if (!comm_) return {};
  Result now = Result::success;
  Result result = lib_.ncclCommGetAsyncError(comm_, &now);
  if (result == Result::success) result = now;
  return result == Result::success || result == Result::in_progress ? std::string() : error_text(result);
}

void NcclComm::close() noexcept {
  try {
    call_library("ncclCommFinalize", deadline_after(kLeaveTimeout / 2), lib_.ncclCommFinalize);
    end_comm(lib_.ncclCommDestroy);
  } catch (const std::exception&) {
    abort();
  }
}
void NcclComm::abort() noexcept { end_comm(lib_.ncclCommAbort); }

/// Calls `end_function` with the communicator, without holding the mutex, because the call blocks. All other threads
/// see a null comm_ from then on.
void NcclComm::end_comm(Result (*end_function)(Comm)) noexcept try {
  Comm comm;
  {
    const std::lock_guard lock(mutex_);
    comm = std::exchange(comm_, nullptr);
  }
  if (!comm) return;
  const gpu::DeviceGuard guard(device_.index());
  end_function(comm);
} catch (const std::exception&) {
  // The GPU is lost, and with it the communicator's state there.
}

std::string NcclComm::error_text(Result result) const {
  std::string out = lib_.ncclGetErrorString(result);
  const char* const more = lib_.ncclGetLastError(comm_);
  if (more && *more) out += std::string(" (") + more + ")";
  return out;
}

void close_or_abort_all(const NcclComms& comms, void (NcclComm::*end)() noexcept) {
  const Deadline deadline = deadline_after(kLeaveTimeout);
  std::vector<std::future<void>> ended;
  for (const auto& comm : comms) {
    std::packaged_task<void()> task([comm, end] { ((*comm).*end)(); });
    ended.push_back(task.get_future());
    tandem::detail::start_thread("the end of a communicator", std::move(task)).detach();
  }
  for (const auto& each : ended) each.wait_until(deadline);
}

}  // namespace tandem::distributed::nccl
