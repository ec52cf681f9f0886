// Implements LocalHub and InProcessCommunicator: ranks are threads that meet in each collective and read each other's
// tensors.
#include "tandem/parallel/collectives/local.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/cuda/streams.h"

namespace tandem::distributed {

namespace {
/// Copies a tensor. CUDA tensors are copied on the current stream of `device`, on which `from` or `to` lies.
void copy_on_device(const Tensor& from, const Tensor& to, Device device) {
  const auto bytes = static_cast<size_t>(to.nbytes());
  if (bytes == 0 || to.raw_data() == from.raw_data()) return;
  if (device.is_cpu()) {
    std::memcpy(to.raw_data(), from.raw_data(), bytes);
    return;
  }
  const gpu::StreamHandle stream = cuda::current_stream(device).handle();
  if (from.device() == to.device()) return gpu::copy_async(to.raw_data(), from.raw_data(), bytes, stream);
  cuda::enable_p2p_access(from.device(), to.device());
  gpu::copy_peer_async(to.raw_data(), to.device().index(), from.raw_data(), from.device().index(), bytes, stream);
}
cuda::Event record_event(Device device) {
  cuda::Event event;
  if (device.is_cuda()) event.record(cuda::current_stream(device));
  return event;
}
void make_stream_wait(const cuda::Event& event, Device device) {
  if (device.is_cuda()) event.wait(cuda::current_stream(device));
}
}  // namespace

/// Synchronizes the threads of a group. A collective has two barriers. At the first one each rank publishes its
/// tensors. After the second one all ranks have done their share of the work, and each may use its tensors again. For
/// CUDA tensors, the barriers also synchronize the ranks' streams: each stream waits for the work that the other
/// streams held at the barrier. No host thread waits for a GPU.
class LocalHub {
 public:
  LocalHub(int size, std::chrono::milliseconds timeout, GroupMembersPtr members = nullptr)
      : size(size),
        members_(std::move(members)),
        timeout_(timeout),
        rank_slots_(static_cast<size_t>(size)),
        calls_(rank_slots_.size()),
        left_ranks_(rank_slots_.size()) {
    start_barrier_.rank_has_arrived.resize(rank_slots_.size());
    end_barrier_.rank_has_arrived.resize(rank_slots_.size());
  }
  /// Tensors that one rank publishes.
  struct RankSlot {
    std::vector<Tensor> tensors;
    cuda::Event ready, done;  // events recorded on the rank's stream at the first and at the second barrier
  };
  using RankSlots = std::vector<RankSlot>;  // one slot for each rank

  /// Publishes this rank's tensors, and waits at the first barrier. Returns the tensors of all ranks, which are valid
  /// until finish_collective().
  const RankSlots& publish_and_wait(int rank, const CollectiveCall& call, std::vector<Tensor> tensors) {
    const cuda::Event ready = record_event(call.device);
    const size_t me = static_cast<size_t>(rank);
    {
      std::unique_lock lock(mutex_);
      // throws before the slot is overwritten, because other ranks may still read it
      if (!failure_.empty()) fail_locally(call);
      calls_[me] = call;
      rank_slots_[me].tensors = std::move(tensors);
      rank_slots_[me].ready = ready;
      wait_for_all(lock, me, start_barrier_);
    }
    for (const RankSlot& rank_slot : rank_slots_) make_stream_wait(rank_slot.ready, call.device);
    return rank_slots_;
  }
  void finish_collective(int rank) {
    const size_t me = static_cast<size_t>(rank);
    const Device device = calls_[me].device;
    const cuda::Event done = record_event(device);
    {
      std::unique_lock lock(mutex_);
      rank_slots_[me].done = done;
      wait_for_all(lock, me, end_barrier_);
      rank_slots_[me].tensors.clear();
    }
    // safe without the mutex: the next collective writes `done` after its first barrier
    for (const RankSlot& rank_slot : rank_slots_) make_stream_wait(rank_slot.done, device);
  }

  void send(int from, const CollectiveCall& call, const Tensor& x, int tag) {
    PendingSend pending_send{call, x, record_event(call.device)};
    std::unique_lock lock(mutex_);
    auto& queue = pending_sends_[{from, call.root_or_peer, tag}];
    queue.push_back(&pending_send);
    changed_.notify_all();
    wait(lock, call, "did not receive it", [&] { return pending_send.is_received; });
    if (!pending_send.is_received) {
      std::erase(queue, &pending_send);
      fail_locally(call);
    }
    if (!pending_send.error.empty()) throw DistributedError(pending_send.error);
    make_stream_wait(pending_send.copied, call.device);
  }
  /// Receives from rank call.root_or_peer, or from any rank if that is -1. Returns the rank of the sender.
  int recv(int to, const CollectiveCall& call, Tensor& x, int tag) {
    std::unique_lock lock(mutex_);
    int from = call.root_or_peer;
    const auto has_arrived = [&] {
      for (int r = 0; r < size; ++r)
        if ((call.root_or_peer < 0 || r == call.root_or_peer) && !pending_sends_[{r, to, tag}].empty())
          return from = r, true;
      return false;
    };
    wait(lock, call, "sent nothing", has_arrived);
    if (!has_arrived()) fail_locally(call);
    auto& queue = pending_sends_[{from, to, tag}];
    PendingSend& pending_send = *queue.front();
    queue.pop_front();
    if (pending_send.call.dtype != call.dtype || pending_send.call.numel != call.numel ||
        pending_send.call.device.type() != call.device.type()) {
      pending_send.error = "a send and its receive do not match: " + describe_rank(from, members_) + " calls " +
                           pending_send.call.str() + ", but " + describe_rank(to, members_) + " calls " + call.str();
    } else {
      make_stream_wait(pending_send.ready, call.device);
      copy_on_device(pending_send.x, x, call.device);
      pending_send.copied = record_event(call.device);
    }
    const std::string error =
        pending_send.error;  // a copy, because `pending_send` no longer exists after the sender wakes
    pending_send.is_received = true;
    changed_.notify_all();
    if (!error.empty()) {
      fail_locked(error);
      throw DistributedError(error);
    }
    return from;
  }

  /// Returns the hub of a group of some of these ranks. The first rank to call this makes the hub. If this hub fails,
  /// the returned hub fails too.
  std::shared_ptr<LocalHub> subgroup_hub(const std::string& name, const GroupMembersPtr& members,
                                         std::chrono::milliseconds timeout) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<LocalHub> hub = subgroup_hubs_[name].lock();
    if (!hub) {
      hub = std::make_shared<LocalHub>(static_cast<int>(members->ranks.size()), timeout, members);
      if (!failure_.empty()) hub->abort(failure_);
      subgroup_hubs_[name] = hub;
    }
    return hub;
  }

  /// Records that this rank makes no more calls. Other ranks that wait for it then fail before their deadline.
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_ranks_[static_cast<size_t>(rank)] = true;
    changed_.notify_all();
  }
  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    fail_locked(reason);
  }
  const int size;

 private:
  struct Barrier {
    std::vector<bool> rank_has_arrived;
    int num_arrived = 0;
    int64_t num_completed = 0;  // number of times that all ranks have arrived at this barrier
  };
  struct PendingSend {
    CollectiveCall call;
    Tensor x;
    cuda::Event ready, copied = cuda::Event();
    bool is_received = false;
    std::string error = {};
  };

  /// Stores the first failure, and fails the groups made from this group. The caller must hold mutex_.
  void fail_locked(const std::string& what) {
    if (!failure_.empty()) return;
    failure_ = what;
    changed_.notify_all();
    for (const auto& each : subgroup_hubs_)
      if (const auto hub = each.second.lock()) hub->abort(what);
  }
  /// Waits until ready() is true or the hub has failed. Fails the hub at the deadline, or when the rank
  /// call.root_or_peer has left (for a receive from any rank: when all other ranks have left). `failed_action` is the
  /// end of the error message.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const CollectiveCall& call, const char* failed_action, Ready ready) {
    const auto has_left = [&] {
      if (call.root_or_peer >= 0) return static_cast<bool>(left_ranks_[static_cast<size_t>(call.root_or_peer)]);
      return std::count(left_ranks_.begin(), left_ranks_.end(), true) >= size - 1;
    };
    const bool before_timeout =
        changed_.wait_for(lock, timeout_, [&] { return ready() || !failure_.empty() || has_left(); });
    if (ready() || !failure_.empty()) return;
    const std::string who = call.root_or_peer < 0 ? "every other rank" : describe_rank(call.root_or_peer, members_);
    fail_locked(
        call.str() + ": " + who +
        (before_timeout ? " has left the group" : std::string(" ") + failed_action + " within " + timeout_text()));
  }
  /// Returns the ranks that have not arrived at the barrier: "rank 1, rank 3". If `has_left` is true, returns only
  /// ranks that have left.
  std::string list_missing_ranks(const Barrier& barrier_state, bool has_left) const {
    std::string ranks;
    for (size_t r = 0; r < rank_slots_.size(); ++r)
      if (!barrier_state.rank_has_arrived[r] && (!has_left || left_ranks_[r]))
        ranks += (ranks.empty() ? "" : ", ") + describe_rank(static_cast<int>(r), members_);
    return ranks;
  }
  void wait_for_all(std::unique_lock<std::mutex>& lock, size_t me, Barrier& barrier_state) {
    if (!failure_.empty()) fail_locally(calls_[me]);
    const int64_t number = barrier_state.num_completed;
    barrier_state.rank_has_arrived[me] = true;
    if (++barrier_state.num_arrived == size) {
      if (&barrier_state == &start_barrier_) compare_calls();
      barrier_state.num_arrived = 0;
      barrier_state.rank_has_arrived.assign(rank_slots_.size(), false);
      ++barrier_state.num_completed;
      changed_.notify_all();
      return;
    }
    const bool before_timeout = changed_.wait_for(lock, timeout_, [&] {
      return barrier_state.num_completed != number || !failure_.empty() ||
             !list_missing_ranks(barrier_state, true).empty();
    });
    if (barrier_state.num_completed == number)
      fail_locked(calls_[me].str() + ": " +
                  (before_timeout
                       ? list_missing_ranks(barrier_state, true) + " left the group"
                       : list_missing_ranks(barrier_state, false) + " did not arrive within " + timeout_text()));
    if (barrier_state.num_completed == number) fail_locally(calls_[me]);
  }
  void compare_calls() {
    for (int r = 1; r < size; ++r)
      if (const CollectiveCall& call = calls_[static_cast<size_t>(r)]; !call.matches(calls_[0]))
        throw_mismatch("Detected mismatch between collectives on ranks: " + describe_rank(0, members_) + " calls " +
                       calls_[0].str() + ", but " + describe_rank(r, members_) + " calls " + call.str());
    if (calls_[0].send_numels.empty()) return;
    for (int from = 0; from < size; ++from)
      for (int to = 0; to < size; ++to)
        if (const std::string what =
                describe_mismatch(calls_[static_cast<size_t>(from)], from, calls_[static_cast<size_t>(to)], to);
            !what.empty())
          throw_mismatch(what);
  }
  [[noreturn]] void throw_mismatch(const std::string& what) {
    fail_locked(what);
    throw DistributedError(what);
  }
  std::string timeout_text() const { return std::to_string(timeout_.count()) + " ms"; }
  [[noreturn]] void fail_locally(const CollectiveCall& call) {
    throw DistributedError(failure_.find(call.name) == 0 ? failure_ : std::string(call.str()) + ": " + failure_);
  }

  const GroupMembersPtr members_;
  // Lock order: a thread that holds this mutex may lock the mutex of a hub made from this hub, but never the reverse.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::milliseconds timeout_;
  std::string failure_;  // first failure of the hub, which is never cleared; "" if there is none
  RankSlots rank_slots_;
  std::vector<CollectiveCall> calls_;
  std::vector<bool> left_ranks_;
  Barrier start_barrier_, end_barrier_;
  std::map<std::tuple<int, int, int>, std::deque<PendingSend*>>
      pending_sends_;  // pending sends, by sender, receiver and tag
  std::map<std::string, std::weak_ptr<LocalHub>> subgroup_hubs_;
};

namespace {

class InProcessCommunicator final : public Communicator {
 public:
  InProcessCommunicator(std::shared_ptr<LocalHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~InProcessCommunicator() override { hub_->leave(rank_); }

  // Rank r reduces chunk r, reading the tensors of all ranks directly, and writes the result to all of them.
  void all_reduce(const CollectiveCall& call, Tensor& x) override {
    const std::vector<Tensor> chunks = own_chunks(hub_->publish_and_wait(rank_, call, {x}), call.numel);
    Tensor mine = chunks[static_cast<size_t>(rank_)];
    reduce_in_order(make_accessible(chunks, call.device), call.op, mine);
    for (const Tensor& chunk : chunks) copy_on_device(mine, chunk, call.device);
    bytes_sent += 2 * (hub_->size - 1) * mine.nbytes();
    hub_->finish_collective(rank_);
  }
  void broadcast(const CollectiveCall& call, Tensor& x) override {
    const auto& all = hub_->publish_and_wait(rank_, call, {x});
    if (rank_ != call.root_or_peer) {
      copy_on_device(all[static_cast<size_t>(call.root_or_peer)].tensors[0], x, call.device);
      bytes_sent += x.nbytes();
    }
    hub_->finish_collective(rank_);
  }
  void reduce(const CollectiveCall& call, Tensor& x) override {
    const std::vector<Tensor> chunks = own_chunks(hub_->publish_and_wait(rank_, call, {x}), call.numel);
    const Tensor& target = chunks[static_cast<size_t>(call.root_or_peer)];
    Tensor result = is_accessible(target, call.device) ? target : core::empty(target.sizes(), x.dtype(), call.device);
    reduce_in_order(make_accessible(chunks, call.device), call.op, result);
    copy_on_device(result, target, call.device);
    bytes_sent += (hub_->size - 1) * target.nbytes();
    hub_->finish_collective(rank_);
  }
  void all_gather(const CollectiveCall& call, std::vector<Tensor>& outputs, const Tensor& input) override {
    const auto& all = hub_->publish_and_wait(rank_, call, {input});
    for (size_t r = 0; r < outputs.size(); ++r) copy_on_device(all[r].tensors[0], outputs[r], call.device);
    bytes_sent += (hub_->size - 1) * input.nbytes();
    hub_->finish_collective(rank_);
  }
  void reduce_scatter(const CollectiveCall& call, Tensor& output, const std::vector<Tensor>& inputs) override {
    const auto& all = hub_->publish_and_wait(rank_, call, inputs);
    std::vector<Tensor> parts;
    for (const auto& rank_slot : all) parts.push_back(rank_slot.tensors[static_cast<size_t>(rank_)]);
    // a new tensor, because output may be an input
    Tensor result = core::empty(output.sizes(), output.dtype(), output.device());
    reduce_in_order(make_accessible(parts, call.device), call.op, result);
    bytes_sent += (hub_->size - 1) * output.nbytes();
    hub_->finish_collective(rank_);
    copy_on_device(result, output, call.device);
  }
  void all_to_all_v(const CollectiveCall& call, std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs) override {
    const auto& all = hub_->publish_and_wait(rank_, call, inputs);
    for (size_t r = 0; r < outputs.size(); ++r) {
      if (!outputs[r].defined()) continue;
      copy_on_device(all[r].tensors[static_cast<size_t>(rank_)], outputs[r], call.device);
      if (r != static_cast<size_t>(rank_)) bytes_sent += outputs[r].nbytes();
    }
    hub_->finish_collective(rank_);
  }
  void send(const CollectiveCall& call, const Tensor& x, int tag) override {
    hub_->send(rank_, call, x, tag);
    bytes_sent += x.nbytes();
  }
  int recv(const CollectiveCall& call, Tensor& x, int tag) override { return hub_->recv(rank_, call, x, tag); }
  void barrier(const CollectiveCall& call) override {
    hub_->publish_and_wait(rank_, call, {});
    hub_->finish_collective(rank_);
  }
  std::unique_ptr<Communicator> split(const std::string& name, int rank, GroupMembersPtr members,
                                      std::chrono::milliseconds timeout) override {
    return std::make_unique<InProcessCommunicator>(hub_->subgroup_hub(name, members, timeout), rank);
  }
  void abort(const std::string& reason) override { hub_->abort(reason); }

 private:
  /// Returns this rank's chunk of every rank's tensor. Chunks have nearly equal sizes and begin at multiples of 16
  /// bytes, for vector loads on the GPU.
  std::vector<Tensor> own_chunks(const LocalHub::RankSlots& all, int64_t n) const {
    constexpr int64_t kVectorBytes = 16;
    const int64_t whole = kVectorBytes / all[0].tensors[0].itemsize();
    const auto cut = [&](int64_t r) { return r == hub_->size ? n : n * r / hub_->size / whole * whole; };
    const int64_t first = cut(rank_), end = cut(rank_ + 1);
    std::vector<Tensor> chunks;
    for (const auto& rank_slot : all) {
      const Tensor flat = core::try_view(rank_slot.tensors[0], {n});
      chunks.push_back(core::narrow(flat, 0, first, end - first));
    }
    return chunks;
  }
  /// Returns whether kernels of `device` can read t. Virtual CPU devices share memory, so they can read each other's
  /// tensors.
  static bool is_accessible(const Tensor& t, Device device) { return device.is_cpu() || t.device() == device; }
  /// Copies to `device` the tensors that its kernels cannot read, and returns the list with these copies.
  static std::vector<Tensor> make_accessible(std::vector<Tensor> tensors, Device device) {
    for (Tensor& t : tensors) {
      if (is_accessible(t, device)) continue;
      const Tensor here = core::empty(t.sizes(), t.dtype(), device);
      copy_on_device(t, here, device);
      t = here;
    }
    return tensors;
  }
  const std::shared_ptr<LocalHub> hub_;
  const int rank_;
};

}  // namespace

std::shared_ptr<LocalHub> make_local_hub(int size, std::chrono::milliseconds timeout) {
  return std::make_shared<LocalHub>(size, timeout);
}
std::unique_ptr<Communicator> make_local_communicator(std::shared_ptr<LocalHub> hub, int rank) {
  return std::make_unique<InProcessCommunicator>(std::move(hub), rank);
}
void abort_local(LocalHub& hub, const std::string& reason) { hub.abort(reason); }

}  // namespace tandem::distributed
