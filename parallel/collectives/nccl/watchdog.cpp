// Implements NcclWatchdog: finds collectives that hang, fail or differ between ranks, and ends them with one error on
// all ranks.
#include "tandem/parallel/collectives/nccl/watchdog.h"

#include <algorithm>
#include <sstream>

#include "tandem/core/cuda/fault.h"
#include "tandem/core/threads/start_thread.h"

namespace tandem::distributed::nccl {
namespace {
using std::chrono::milliseconds;
constexpr milliseconds kPollInterval(100);  // interval at which operations are polled
constexpr milliseconds kGracePeriod(1000);  // after a failure: longest time to wait for operations to end
constexpr milliseconds kDrainTime(2000);    // after a rank has left: time in which calls in progress may still complete
/// Mixes into an FNV-1a hash those arguments of a call on which ranks must agree.
uint64_t hash_call(uint64_t hash, const CollectiveCall& call) {
  const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const char* letter = call.name; *letter; ++letter) mix(static_cast<unsigned char>(*letter));
  for (const char letter : call.about) mix(static_cast<unsigned char>(letter));
  mix(static_cast<uint64_t>(call.sequence_number)), mix(static_cast<uint64_t>(call.dtype));
  mix(static_cast<uint64_t>(call.numel)), mix(static_cast<uint64_t>(call.root_or_peer));
  mix(call.is_reduction ? static_cast<uint64_t>(call.op) + 1 : 0);
  return hash;
}
}  // namespace

NcclWatchdog::NcclWatchdog(const Rendezvous& job, Device device, milliseconds timeout,
                           std::shared_ptr<FirstFailure> failure)
    : rank_(job.rank),
      size_(job.size),
      device_(device),
      store_(job.store),
      group_name_(job.name),
      members_(job.members),
      timeout_(timeout),
      failure_(std::move(failure)),
      flight_log_(job.flight_log),
      thread_(detail::start_thread("the watch over NCCL", [this] { poll_until_stopped(); })) {}
NcclWatchdog::~NcclWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  close_or_abort_all(comms_, &NcclComm::close);
  cuda::report_host_failure(device_,
                            nullptr);  // clear the failure, so that a later group on this device starts without it
}

NcclComm& NcclWatchdog::take_ownership(std::shared_ptr<NcclComm> comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(std::move(comm));
  return *comms_.back();
}
void NcclWatchdog::record_call(const CollectiveCall& call) {
  const std::lock_guard lock(mutex_);
  last_call_ = call;
  if (call.sequence_number == 0 || size_ == 1)
    return;  // a send or receive involves only two ranks, so it is not compared
  calls_hash_ = hash_call(calls_hash_, call);
  // rank 0 needs only its latest call, which it publishes; other ranks keep their calls until these have been compared
  if (rank_ == 0) uncompared_collectives_.clear();
  uncompared_collectives_.push_back({call, calls_hash_});
}
void NcclWatchdog::add_in_flight(const CollectiveCall& call, cuda::Event end, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  calls_in_flight_.emplace(num_added_calls_++, InFlightCall{call, std::move(end), deadline});
}

void NcclWatchdog::record_left_ranks(const LeftRanks& left) {
  const std::lock_guard lock(mutex_);
  for (int r = 0; r < size_; ++r)
    if (const auto at = left.find(global_rank(r, members_));
        at != left.end() && left_ranks_.emplace(r, at->second).second)
      last_left_time_ = Clock::now();
}
std::string NcclWatchdog::describe_left_peer(const CollectiveCall& call, const LeftRanks& left) const {
  const auto at = call.sequence_number == 0 ? left.find(call.root_or_peer) : left.begin();
  if (at == left.end()) return {};
  return call.str() + ": " + describe_rank(at->first, members_) + " has left the group (" + at->second + ")";
}

void NcclWatchdog::poll_until_stopped() try {
  // makes the GPU current in this thread: otherwise CUDA would create a context on the first GPU, which takes up memory
  const gpu::DeviceGuard guard(device_.index());
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::min(kPollInterval, timeout_ / 4 + milliseconds(1)), [this] { return stop_; })) {
    lock.unlock();
    if (const std::string why = poll_calls(); !why.empty()) fail_group(why);
    lock.lock();
  }
} catch (const std::exception& error) {
  fail_group(error.what());
}

/// Polls all operations in progress, the communicators and the store. Returns the first error; empty if there is none.
std::string NcclWatchdog::poll_calls() try {
  if (!failure_->what().empty()) return {};
  std::map<int64_t, InFlightCall> calls;
  NcclComms comms;
  LeftRanks left;
  Clock::time_point last_left_time;
  {
    const std::lock_guard lock(mutex_);
    calls = calls_in_flight_;
    comms = comms_;
    left = left_ranks_, last_left_time = last_left_time_;
  }
  std::vector<int64_t> done;
  std::string oldest;
  for (const auto& [number, each] : calls) {
    if (each.end.query()) {
      done.push_back(number);
      continue;
    }
    if (oldest.empty()) oldest = each.call.str() + ": ";
    if (Clock::now() >= std::max(last_left_time, each.start_time) + kDrainTime)
      if (const std::string why = describe_left_peer(each.call, left); !why.empty()) return why;
    if (Clock::now() >= each.deadline)
      return each.call.str() + ": it did not finish within " + std::to_string(timeout_.count()) + " ms";
  }
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t number : done) calls_in_flight_.erase(number);
  }
  for (const auto& comm : comms)
    if (const std::string why = comm->get_async_error(); !why.empty()) return oldest + why;
  if (const std::string why = compare_with_rank_0(); !why.empty()) return why;
  return store_->find(failure_key(group_name_), milliseconds(0)).value_or("");
} catch (const StoreClosed&) {
  return {};  // rank 0 has left and has closed the store
} catch (const std::exception& error) {
  return error.what();
}

/// Compares the ranks' collectives: rank 0 publishes its latest collective, and each other rank compares it with its
/// own collective of the same number. Returns an error if they differ; otherwise an empty string.
std::string NcclWatchdog::compare_with_rank_0() {
  const std::string key = group_name_ + "/rank 0's collectives";
  std::optional<CalledCollective> last;
  {
    const std::lock_guard lock(mutex_);
    if (uncompared_collectives_.empty()) return {};
    last = uncompared_collectives_.back();
    if (rank_ == 0) uncompared_collectives_.clear();
  }
  if (rank_ == 0) {
    store_->set(key,
                std::to_string(last->call.sequence_number) + " " + std::to_string(last->hash) + " " + last->call.str());
    return {};
  }
  if (rank_0_sequence_ <= last_compared_sequence_number_) {
    std::istringstream text(store_->find(key, milliseconds(0)).value_or(""));
    text >> rank_0_sequence_ >> rank_0_hash_ >> std::ws;
    std::getline(text, rank_0_call_);
  }
  // nothing new, or rank 0 is ahead of this rank
  if (rank_0_sequence_ <= last_compared_sequence_number_ || rank_0_sequence_ > last->call.sequence_number) return {};
  const std::lock_guard lock(mutex_);
  while (uncompared_collectives_.front().call.sequence_number < rank_0_sequence_) uncompared_collectives_.pop_front();
  last_compared_sequence_number_ = rank_0_sequence_;
  if (uncompared_collectives_.front().hash == rank_0_hash_) return {};
  return "Detected mismatch between collectives on ranks, now or earlier: " + describe_rank(0, members_) + " calls " +
         rank_0_call_ + ", but " + describe_rank(rank_, members_) + " calls " +
         uncompared_collectives_.front().call.str();
}

void NcclWatchdog::fail_group(const std::string& what, milliseconds grace_period) {
  const std::lock_guard one_at_a_time(fail_mutex_);
  if (!failure_->what().empty()) return;
  std::string cause = describe_rank(rank_, members_) + ": " + what;
  try {
    cause = store_->publish_failure(group_name_, cause);
    cause += describe_last_calls(grace_period);
  } catch (const DistributedError&) {
    // The store is lost too.
  }
  failure_->set(cause);
  flight_log_->record_failure(cause);
  cuda::report_host_failure(device_, std::make_exception_ptr(DistributedError(cause)));
  NcclComms comms;
  {
    const std::lock_guard lock(mutex_);
    comms = comms_;
  }
  close_or_abort_all(comms, &NcclComm::abort);
}

/// Returns the latest call of each rank: "; rank 0 called last: all_reduce #3 ...; rank 1 does not answer".
std::string NcclWatchdog::describe_last_calls(milliseconds grace_period) {
  const auto key = [this](int r) { return group_name_ + "/rank " + std::to_string(r) + " called"; };
  std::string mine;
  {
    const std::lock_guard lock(mutex_);
    mine = (last_call_ ? last_call_->str() : "nothing yet") + ", on " + host_name();
  }
  store_->set(key(rank_), mine);
  const Deadline deadline = deadline_after(grace_period);
  constexpr int kMaxRanks = 8;  // maximum number of ranks that an error lists
  std::string out;
  for (int r = 0; r < std::min(size_, kMaxRanks); ++r) {
    const auto theirs = r == rank_ ? mine : store_->find(key(r), time_until(deadline)).value_or("");
    out += "; " + describe_rank(r, members_) + (theirs.empty() ? " does not answer" : " called last: " + theirs);
  }
  return out;
}

void NcclWatchdog::wait_until_idle() {
  std::map<int64_t, InFlightCall> calls;
  {
    const std::lock_guard lock(mutex_);
    calls = calls_in_flight_;
  }
  Deadline deadline = Deadline::max();  // no deadline yet, because run() fails operations that take too long
  try {
    // Poll instead of synchronizing: if a kernel of the program fails, synchronizing would throw its error here, as if
    // it were a failure of the group.
    for (const auto& [number, each] : calls)
      while (!each.end.query() && Clock::now() < deadline) {
        if (deadline == Deadline::max() && !failure_->what().empty()) deadline = deadline_after(kGracePeriod);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
  } catch (const std::exception&) {
    return;  // the GPU is lost, so no operation will complete
  }
}

}  // namespace tandem::distributed::nccl
