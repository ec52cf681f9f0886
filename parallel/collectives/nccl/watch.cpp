// Implements NcclWatch: finds collectives that hang, fail or differ between ranks, and ends them with one error on all
// ranks.
#include "tandem/parallel/collectives/nccl/watch.h"

#include <algorithm>
#include <sstream>

#include "tandem/core/cuda/fault.h"
#include "tandem/core/threads/start_thread.h"

namespace tandem::distributed::nccl {
namespace {
using std::chrono::milliseconds;
constexpr milliseconds kTick(100);        // interval at which operations are polled
constexpr milliseconds kPatience(1000);   // after a failure: most time to wait for operations to end
constexpr milliseconds kLastWords(2000);  // after a rank has left: time in which calls in progress may still complete
/// Mixes into an FNV-1a hash those arguments of a call on which ranks must agree.
uint64_t mixed(uint64_t hash, const Call& call) {
  const auto mix = [&hash](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  for (const char* letter = call.name; *letter; ++letter) mix(static_cast<unsigned char>(*letter));
  for (const char letter : call.about) mix(static_cast<unsigned char>(letter));
  mix(static_cast<uint64_t>(call.sequence)), mix(static_cast<uint64_t>(call.dtype));
  mix(static_cast<uint64_t>(call.numel)), mix(static_cast<uint64_t>(call.other));
  mix(call.reduces ? static_cast<uint64_t>(call.op) + 1 : 0);
  return hash;
}
}  // namespace

NcclWatch::NcclWatch(const Rendezvous& job, Device device, milliseconds timeout, std::shared_ptr<FirstFailure> failure)
    : rank_(job.rank),
      size_(job.size),
      device_(device),
      store_(job.store),
      group_(job.name),
      members_(job.members),
      timeout_(timeout),
      failure_(std::move(failure)),
      flight_(job.flight),
      thread_(detail::start_thread("the watch over NCCL", [this] { run(); })) {}
NcclWatch::~NcclWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  end_all(comms_, &NcclComm::close);
  cuda::report_failure(device_, nullptr);  // clear the failure, so that a later group on this device starts without it
}

NcclComm& NcclWatch::adopt(std::shared_ptr<NcclComm> comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(std::move(comm));
  return *comms_.back();
}
void NcclWatch::called(const Call& call) {
  const std::lock_guard lock(mutex_);
  last_ = call;
  if (call.sequence == 0 || size_ == 1) return;  // a send or receive involves only two ranks, so it is not compared
  hash_ = mixed(hash_, call);
  // rank 0 needs only its latest call, which it publishes; other ranks keep theirs until they have been compared
  if (rank_ == 0) called_.clear();
  called_.push_back({call, hash_});
}
void NcclWatch::add(const Call& call, cuda::Event end, Deadline deadline) {
  const std::lock_guard lock(mutex_);
  under_way_.emplace(added_++, UnderWay{call, std::move(end), deadline});
}

void NcclWatch::note_left(const LeftRanks& left) {
  const std::lock_guard lock(mutex_);
  for (int r = 0; r < size_; ++r)
    if (const auto at = left.find(global_rank(r, members_)); at != left.end() && left_.emplace(r, at->second).second)
      heard_of_left_ = Clock::now();
}
std::string NcclWatch::missing_in(const Call& call, const LeftRanks& left) const {
  const auto at = call.sequence == 0 ? left.find(call.other) : left.begin();
  if (at == left.end()) return {};
  return call.str() + ": " + rank_text(at->first, members_) + " has left the group (" + at->second + ")";
}

void NcclWatch::run() try {
  // makes the GPU current in this thread: otherwise CUDA would create a context on the first GPU, which takes up memory
  const gpu::DeviceGuard guard(device_.index());
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::min(kTick, timeout_ / 4 + milliseconds(1)), [this] { return stop_; })) {
    lock.unlock();
    if (const std::string why = look(); !why.empty()) fail(why);
    lock.lock();
  }
} catch (const std::exception& error) {
  fail(error.what());
}

/// Polls all operations in progress, the communicators and the store. Returns the first error; empty if there is none.
std::string NcclWatch::look() try {
  if (!failure_->what().empty()) return {};
  std::map<int64_t, UnderWay> calls;
  NcclComms comms;
  LeftRanks left;
  Clock::time_point heard_of_left;
  {
    const std::lock_guard lock(mutex_);
    calls = under_way_;
    comms = comms_;
    left = left_, heard_of_left = heard_of_left_;
  }
  std::vector<int64_t> done;
  std::string oldest;
  for (const auto& [number, each] : calls) {
    if (each.end.query()) {
      done.push_back(number);
      continue;
    }
    if (oldest.empty()) oldest = each.call.str() + ": ";
    if (Clock::now() >= std::max(heard_of_left, each.begun) + kLastWords)
      if (const std::string why = missing_in(each.call, left); !why.empty()) return why;
    if (Clock::now() >= each.deadline)
      return each.call.str() + ": it did not finish within " + std::to_string(timeout_.count()) + " ms";
  }
  {
    const std::lock_guard lock(mutex_);
    for (const int64_t number : done) under_way_.erase(number);
  }
  for (const auto& comm : comms)
    if (const std::string why = comm->problem(); !why.empty()) return oldest + why;
  if (const std::string why = compare_with_rank_0(); !why.empty()) return why;
  return store_->find(failure_key(group_), milliseconds(0)).value_or("");
} catch (const StoreClosed&) {
  return {};  // rank 0 has left and has closed the store
} catch (const std::exception& error) {
  return error.what();
}

/// Compares the ranks' collectives: rank 0 publishes its latest collective, and each other rank compares it with its
/// own collective of the same number. Returns an error if they differ; otherwise an empty string.
std::string NcclWatch::compare_with_rank_0() {
  const std::string key = group_ + "/rank 0's collectives";
  std::optional<Called> last;
  {
    const std::lock_guard lock(mutex_);
    if (called_.empty()) return {};
    last = called_.back();
    if (rank_ == 0) called_.clear();
  }
  if (rank_ == 0) {
    store_->set(key, std::to_string(last->call.sequence) + " " + std::to_string(last->hash) + " " + last->call.str());
    return {};
  }
  if (their_sequence_ <= compared_) {
    std::istringstream text(store_->find(key, milliseconds(0)).value_or(""));
    text >> their_sequence_ >> their_hash_ >> std::ws;
    std::getline(text, their_call_);
  }
  // nothing new, or rank 0 is ahead of this rank
  if (their_sequence_ <= compared_ || their_sequence_ > last->call.sequence) return {};
  const std::lock_guard lock(mutex_);
  while (called_.front().call.sequence < their_sequence_) called_.pop_front();
  compared_ = their_sequence_;
  if (called_.front().hash == their_hash_) return {};
  return "Detected mismatch between collectives on ranks, now or earlier: " + rank_text(0, members_) + " calls " +
         their_call_ + ", but " + rank_text(rank_, members_) + " calls " + called_.front().call.str();
}

void NcclWatch::fail(const std::string& what, milliseconds patience) {
  const std::lock_guard one_at_a_time(failing_);
  if (!failure_->what().empty()) return;
  std::string cause = rank_text(rank_, members_) + ": " + what;
  try {
    cause = store_->publish_failure(group_, cause);
    cause += where_the_ranks_are(patience);
  } catch (const DistributedError&) {
    // The store is lost too.
  }
  failure_->set(cause);
  flight_->failed(cause);
  cuda::report_failure(device_, std::make_exception_ptr(DistributedError(cause)));
  NcclComms comms;
  {
    const std::lock_guard lock(mutex_);
    comms = comms_;
  }
  end_all(comms, &NcclComm::abort);
}

/// Returns the latest call of each rank: "; rank 0 called last: all_reduce #3 ...; rank 1 does not answer".
std::string NcclWatch::where_the_ranks_are(milliseconds patience) {
  const auto key = [this](int r) { return group_ + "/rank " + std::to_string(r) + " called"; };
  std::string mine;
  {
    const std::lock_guard lock(mutex_);
    mine = (last_ ? last_->str() : "nothing yet") + ", on " + host_name();
  }
  store_->set(key(rank_), mine);
  const Deadline deadline = after(patience);
  constexpr int kMost = 8;  // most ranks that an error lists
  std::string out;
  for (int r = 0; r < std::min(size_, kMost); ++r) {
    const auto theirs = r == rank_ ? mine : store_->find(key(r), left_until(deadline)).value_or("");
    out += "; " + rank_text(r, members_) + (theirs.empty() ? " does not answer" : " called last: " + theirs);
  }
  return out;
}

void NcclWatch::finish() {
  std::map<int64_t, UnderWay> calls;
  {
    const std::lock_guard lock(mutex_);
    calls = under_way_;
  }
  Deadline deadline = Deadline::max();  // no deadline yet, because run() fails operations that take too long
  try {
    // Poll instead of synchronizing: if a kernel of the program fails, synchronizing would throw its error here, as if
    // it were a failure of the group.
    for (const auto& [number, each] : calls)
      while (!each.end.query() && Clock::now() < deadline) {
        if (deadline == Deadline::max() && !failure_->what().empty()) deadline = after(kPatience);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
  } catch (const std::exception&) {
    return;  // the GPU is lost, so no operation will complete
  }
}

}  // namespace tandem::distributed::nccl
