#include "tandem/parallel/collectives/nccl_watch.h"

#include "tandem/core/cuda_fault.h"
#include "tandem/parallel/collectives/rendezvous.h"

namespace tandem::distributed::nccl {
namespace {
using std::chrono::milliseconds;
constexpr milliseconds kTick(100);       // between two looks
constexpr milliseconds kPatience(1000);  // for the other ranks to say where they are, after a failure
}  // namespace

NcclWatch::NcclWatch(int rank, int size, Device device, std::shared_ptr<StoreClient> store, std::string group,
                     milliseconds timeout, std::shared_ptr<FirstFailure> failure)
    : rank_(rank),
      size_(size),
      device_(device),
      store_(std::move(store)),
      group_(std::move(group)),
      timeout_(timeout),
      failure_(std::move(failure)),
      thread_([this] { run(); }) {}
NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  cuda::report_failure(device_, nullptr);  // a group to come is another one
}

NcclComm& NcclWatch::adopt(std::unique_ptr<NcclComm> comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(std::move(comm));
  return *comms_.back();
}
void NcclWatch::called(const Call& call) {
  const std::lock_guard lock(mutex_);
  last_ = call.str();
}
void NcclWatch::add(const Call& call, cuda::Event end, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  under_way_.emplace(added_++, UnderWay{call, std::move(end), deadline});
}

void NcclWatch::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::min(kTick, timeout_ / 4 + milliseconds(1)), [this] { return stop_; })) {
    lock.unlock();
    if (const std::string why = look(); !why.empty()) fail(why);
    lock.lock();
  }
}

/// What went wrong; empty if nothing did.
std::string NcclWatch::look() try {
  if (!failure_->what().empty()) return {};
  std::map<int64_t, UnderWay> calls;
  std::vector<NcclComm*> comms;
  {
    const std::lock_guard lock(mutex_);
    calls = under_way_;
    for (const auto& comm : comms_) comms.push_back(comm.get());
  }
  std::vector<int64_t> done;
  std::string oldest;
  for (const auto& [number, each] : calls) {
    if (each.end.query()) {
      done.push_back(number);
      continue;
    }
    if (oldest.empty()) oldest = each.call.str() + ": ";
    if (Clock::now() >= each.deadline)
      return each.call.str() + ": it is not done within " + std::to_string(timeout_.count()) + " ms";
  }
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t number : done) under_way_.erase(number);
  }
  for (NcclComm* const comm : comms)
    if (const std::string why = comm->problem(); !why.empty()) return oldest + why;
  return store_->find(failure_key(group_), milliseconds(0)).value_or("");
} catch (const std::exception& error) {
  return error.what();
}

void NcclWatch::fail(const std::string& what) {
  const std::lock_guard one_at_a_time(failing_);
  if (!failure_->what().empty()) return;
  std::string cause = "rank " + std::to_string(rank_) + ": " + what;
  try {
    cause = store_->set_once(failure_key(group_), cause);
    cause += where_the_ranks_are();
  } catch (const DistributedError&) {
    // The store is gone as well.
  }
  failure_->set(cause);
  cuda::report_failure(device_, std::make_exception_ptr(DistributedError(cause)));
  const std::lock_guard lock(mutex_);
  for (const auto& comm : comms_) comm->abort();
}
void NcclWatch::abort(const std::string& reason) {
  std::string at;
  {
    const std::lock_guard lock(mutex_);
    if (!under_way_.empty()) at = under_way_.begin()->second.call.str() + ": ";
  }
  fail(at + reason);
}

/// "; rank 0 called last: all_reduce #3 ...; rank 1 does not answer"
std::string NcclWatch::where_the_ranks_are() {
  const auto key = [this](int r) { return group_ + "/rank " + std::to_string(r) + " called"; };
  std::string mine;
  {
    const std::lock_guard lock(mutex_);
    mine = last_.empty() ? "nothing yet" : last_;
  }
  store_->set(key(rank_), mine);
  const Deadline deadline = after(kPatience);
  constexpr int kMost = 8;  // ranks that an error lists
  std::string out;
  for (int r = 0; r < std::min(size_, kMost); ++r) {
    const auto theirs = r == rank_ ? mine : store_->find(key(r), left_until(deadline)).value_or("");
    out += "; rank " + std::to_string(r) + (theirs.empty() ? " does not answer" : " called last: " + theirs);
  }
  return out;
}

void NcclWatch::finish() {
  std::map<int64_t, UnderWay> calls;
  {
    const std::lock_guard lock(mutex_);
    calls = under_way_;
  }
  try {
    for (const auto& each : calls) each.second.end.synchronize();  // the watch ends what takes too long
  } catch (const std::exception&) {
    return;  // a lost device: there is nothing to wait for
  }
}

}  // namespace tandem::distributed::nccl
