#include "tandem/parallel/collectives/nccl_comm.h"

#include <thread>

namespace tandem::distributed::nccl {
namespace {
using std::chrono::microseconds;
constexpr microseconds kFirstPause(20), kLongestPause(2000);
constexpr std::chrono::seconds kGoodbye(10);
}  // namespace

NcclComm::NcclComm(const Library& lib, int rank, int size, const UniqueId& id, Device device, Deadline deadline,
                   std::shared_ptr<const FirstFailure> failure)
    : lib_(lib), device_(device), failure_(std::move(failure)) {
  Config config;
  Result result;
  {
    const gpu::DeviceGuard guard(device_.index());
    result = lib_.ncclCommInitRankConfig(&comm_, size, id, rank, &config);
  }
  try {
    settle("ncclCommInitRankConfig", deadline, result);
  } catch (...) {
    abort();
    throw;
  }
}

NcclComm::~NcclComm() {
  try {
    call("ncclCommFinalize", after(kGoodbye), lib_.ncclCommFinalize);
  } catch (const std::exception&) {
    abort();
  }
  const std::lock_guard lock(mutex_);
  const gpu::DeviceGuard guard(device_.index());
  if (comm_) lib_.ncclCommDestroy(comm_);
}

void NcclComm::call(const char* name, Deadline deadline, const std::function<Result(Comm)>& f) {
  Result result;
  {
    const std::lock_guard lock(mutex_);
    failure_->check();
    TANDEM_CHECK_AS(DistributedError, comm_, name, ": the communicator was aborted");
    const gpu::DeviceGuard guard(device_.index());
    result = f(comm_);
  }
  settle(name, deadline, result);
}

void NcclComm::settle(const char* name, Deadline deadline, Result result) {
  for (microseconds pause = kFirstPause; result == Result::in_progress; pause = std::min(2 * pause, kLongestPause)) {
    failure_->check();
    TANDEM_CHECK_AS(DistributedError, Clock::now() < deadline, name, " was not done in time");
    std::this_thread::sleep_for(pause);
    const std::lock_guard lock(mutex_);
    TANDEM_CHECK_AS(DistributedError, comm_, name, ": the communicator was aborted");
    Result now = Result::success;
    result = lib_.ncclCommGetAsyncError(comm_, &now);
    if (result == Result::success) result = now;
  }
  const std::lock_guard lock(mutex_);
  TANDEM_CHECK_AS(DistributedError, result == Result::success, name, ": ", text(result));
}

std::string NcclComm::problem() {
  const std::lock_guard lock(mutex_);
  if (!comm_) return {};
  Result now = Result::success;
  Result result = lib_.ncclCommGetAsyncError(comm_, &now);
  if (result == Result::success) result = now;
  return result == Result::success || result == Result::in_progress ? std::string() : text(result);
}

void NcclComm::abort() {
  const std::lock_guard lock(mutex_);
  if (!comm_) return;
  const gpu::DeviceGuard guard(device_.index());
  lib_.ncclCommAbort(std::exchange(comm_, nullptr));
}

std::string NcclComm::text(Result result) const {
  std::string out = lib_.ncclGetErrorString(result);
  const char* const more = lib_.ncclGetLastError(comm_);
  if (more && *more) out += std::string(" (") + more + ")";
  return out;
}

}  // namespace tandem::distributed::nccl
