// Graph: records a step, plans its memory, and replays it.
#include "tandem/core/loop/graph.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

#include "tandem/core/autocast/autocast_cache.h"
#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/capture.h"
#include "tandem/core/loop/loop_chain.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/core/storage.h"
#include "tandem/core/tensor.h"

namespace tandem {
namespace {

/// How the recorded loops use one storage. A group is a set of loops that a replay runs at once (see LoopGroup).
struct StorageUse {
  Storage storage;
  int64_t bytes;
  size_t first_use_order;  // position of the storage in the order of first use
  // indices of the first and the last group that use the storage; last_group is -1 if no group uses it
  int first_group, last_group;
  bool has_contents;  // whether the storage has contents that the recorded loops do not produce
  bool is_written;
  std::vector<char> initial_contents;  // contents of the storage that each replay restores before it starts
  /// Whether the storage is a temporary: nothing needs its contents before or after a replay.
  bool is_temporary() const { return storage->use_count() == 1 && !has_contents; }
};

/// Assigns offsets in a block of memory, which temporaries with disjoint lifetimes can share. The largest temporaries
/// are placed first, and of equal sizes the one that is used first. Each gets the lowest offset that is free during its
/// lifetime. @return number of bytes needed
int64_t assign_offsets(std::vector<std::pair<StorageUse*, int64_t>>& uses) {
  constexpr int64_t kAlignment = 64;
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.first->bytes, a.first->first_use_order) < std::pair(-b.first->bytes, b.first->first_use_order);
  });
  std::vector<std::pair<StorageUse*, int64_t>> placed;  // sorted by offset
  int64_t total = 0;
  for (auto& [use, at] : uses) {
    at = 0;
    for (const auto& [other, there] : placed) {
      if (other->last_group < use->first_group || use->last_group < other->first_group) continue;
      if (there - at >= use->bytes) break;
      at = std::max(at, (there + other->bytes + kAlignment - 1) / kAlignment * kAlignment);
    }
    const auto behind = [](int64_t place, const auto& other) { return place < other.second; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, behind), {use, at});
    total = std::max(total, at + use->bytes);
  }
  return total;
}

}  // namespace

class Graph::RecordedCalls {
 public:
  ~RecordedCalls() {
    for (auto& [impl, use] : storage_uses_) impl->is_held_by_capture = false;
    for (auto& [impl, use] : gpu_storage_uses_) impl->is_held_by_capture = false;
    if (!captured_work_) return;
    for (const Storage& storage : retained_storages_) captured_work_->record_memory_use(storage->device, storage->data);
  }
  void add(ArrayRef<Loop> loops) {
    const int group = static_cast<int>(loop_groups_.size());
    LoopGroup& kept = loop_groups_.emplace_back();
    for (const Loop& loop : loops)
      // Notes reads before writes, because a tensor that is changed in place is read before it is written.
      for (int k = loop.operand_count - 1; k >= 0; --k)
        if (loop.operands[k].buffer) add_use(loop.operands[k], group, k < loop.write_count);
    for (const Loop& loop : loops) kept.loops.emplace_back(loop);
    release_temporaries();
  }
  void add(std::function<void()> update) { updates_.push_back(std::move(update)); }
  /// Adds a call for a GPU, whose work is captured by the CUDA graph.
  void add(const KernelCall& call, uint64_t pool) {
    for (const Tensor* const tensor : call.reads) add_gpu_use(tensor->storage(), pool, false);
    for (const Tensor* const tensor : call.writes) add_gpu_use(tensor->storage(), pool, true);
    ++summary_.gpu_calls;
  }
  /// Releases memory that is no longer needed, so that the pool can reuse it for later allocations.
  void release_gpu_temporaries() {
    std::erase_if(live_gpu_storages_,
                  [this](StorageImpl* impl) { return impl->use_count() == 1 && gpu_storage_uses_.erase(impl) > 0; });
  }

  /// Plans the memory and prepares the replay. Call this when everything is recorded.
  void prepare_replay(std::unique_ptr<cuda::CapturedWork> work, bool optimize) {
    release_gpu_temporaries();
    for (auto& [impl, use] : gpu_storage_uses_) {
      impl->is_held_by_capture = false;
      if (use.is_written) written_storages_.push_back(use.storage);
      if (!use.is_from_pool) retained_storages_.push_back(std::move(use.storage));
    }
    gpu_storage_uses_.clear();
    live_gpu_storages_.clear();
    captured_work_ = std::move(work);
    release_temporaries();
    if (optimize) {
      eliminate_dead_loops(loop_groups_, [this](const Operand& written) { return find_use(written).is_temporary(); });
      fuse_elementwise_loops(loop_groups_);
    }
    set_lifetimes();
    std::map<int, std::vector<std::pair<StorageUse*, int64_t>>> by_device;
    for (auto& [impl, use] : storage_uses_) {
      impl->is_held_by_capture = false;
      if (impl->use_count() > 1) {
        if (use.is_written) written_storages_.push_back(use.storage);
      } else if (!use.has_contents) {
        if (use.last_group < 0) continue;
        summary_.unshared_bytes += use.bytes;
        if (!is_chain_temporary(use)) by_device[impl->device.index()].push_back({&use, 0});
      } else if (use.is_written && use.bytes > 0) {
        use.initial_contents.assign(impl->data, impl->data + use.bytes);
        restored_uses_.push_back(&use);
      }
    }
    for (auto& [device, uses] : by_device) {
      const int64_t bytes = assign_offsets(uses);
      summary_.bytes += bytes;
      temporaries_memory_.push_back(Storage(new StorageImpl(Device(kCPU, device), bytes)));
      for (auto& [use, at] : uses) use->storage->reset_data(temporaries_memory_.back()->data + at);
    }
    for (const LoopGroup& group : loop_groups_) {
      const auto count = static_cast<int64_t>(group.all_loops().size());
      summary_.loops += count;
      if (count > 1 && group.chain) summary_.chained_loops += count;
      if (group.chain)
        replay_loops_.push_back(&group.chain->loop());
      else
        for (const RecordedLoop& loop : group.loops) replay_loops_.push_back(&loop.get());
      group_ends_.push_back(replay_loops_.size());
    }
  }

  void replay() {
    // The GPU work of the previous replay may still read memory that this replay's CPU loops write.
    if (captured_work_ && !replay_loops_.empty()) captured_work_->synchronize();
    if (captured_work_) captured_work_->wait();
    for (const auto& update : updates_) update();
    for (const StorageUse* use : restored_uses_)
      std::memcpy(use->storage->data, use->initial_contents.data(), use->initial_contents.size());
    for (const Storage& storage : written_storages_) storage->version.fetch_add(1, std::memory_order_relaxed);
    size_t first = 0;
    for (const size_t end : group_ends_) {
      run_loops_unobserved(ArrayRef<const Loop*>(replay_loops_.data() + first, end - first));
      first = end;
    }
    if (captured_work_) captured_work_->launch();
  }
  Summary summary() const {
    Summary out = summary_;
    if (captured_work_)
      for (const Device device : captured_work_->devices())
        out.gpu_bytes += cuda::private_pool_reserved_bytes(device, captured_work_->pool().allocator_pool_id());
    return out;
  }
  const cuda::CapturedWork* captured_work() const { return captured_work_.get(); }

 private:
  void add_use(const Operand& operand, int group, bool write) {
    StorageImpl* const impl = storage_of(operand.buffer);
    const auto [at, added] = storage_uses_.try_emplace(impl);
    StorageUse& use = at->second;
    if (added) {
      use = {Storage(impl), impl->bytes, storage_uses_.size(), group, group, /*has_contents=*/impl->deleter != nullptr,
             false,         {}};
      live_storages_.push_back(impl);
      impl->is_held_by_capture = true;
    }
    // If the first group that uses the storage does not write all of it, the contents come from elsewhere, for example
    // from the host.
    if (use.first_group == group && (!write || operand.bytes < impl->bytes)) use.has_contents = true;
    use.last_group = group;
    use.is_written = use.is_written || write;
  }
  /// Frees storages that only the record refers to, so that a capture takes no more memory than the step itself; they
  /// are not used again before prepare_replay() places them. Storages with contents (`has_contents`) stay.
  void release_temporaries() {
    std::erase_if(live_storages_, [this](StorageImpl* impl) {
      if (impl->use_count() > 1) return false;
      if (!storage_uses_.at(impl).has_contents) impl->reset_data(nullptr);
      return true;
    });
  }

  /// Determines the lifetimes of all storages for the current groups. A temporary that only one chain (elementwise
  /// loops fused into one pass) uses needs no memory of its own afterwards.
  void set_lifetimes() {
    for (auto& [impl, use] : storage_uses_) use.last_group = -1;
    for (size_t g = 0; g < loop_groups_.size(); ++g)
      for (const RecordedLoop& loop : loop_groups_[g].all_loops())
        for (int k = 0; k < loop.get().operand_count; ++k) {
          if (!loop.get().operands[k].buffer) continue;
          StorageUse& use = find_use(loop.get().operands[k]);
          if (use.last_group < 0) use.first_group = static_cast<int>(g);
          use.last_group = static_cast<int>(g);
        }
    for (LoopGroup& group : loop_groups_)
      if (group.chain)
        group.chain->build_chain_loop(
            [&](const StorageImpl* storage) { return is_chain_temporary(storage_uses_.at(storage_of(storage))); });
  }
  /// Whether the storage is a temporary that is used only within one chain of elementwise loops, which are fused into
  /// one pass.
  bool is_chain_temporary(const StorageUse& use) const {
    const LoopGroup& group = loop_groups_[static_cast<size_t>(use.first_group)];
    return use.is_temporary() && use.first_group == use.last_group && group.chain && group.chain->loops().size() > 1;
  }
  static StorageImpl* storage_of(const Buffer* buffer) {
    return static_cast<StorageImpl*>(const_cast<Buffer*>(buffer));
  }
  StorageUse& find_use(const Operand& operand) { return storage_uses_.at(storage_of(operand.buffer)); }

  /// Notes the storage of a tensor that a GPU call uses. Memory of the graph's pool may return to the pool once nothing
  /// else refers to it; all other memory is kept, because launches use it.
  void add_gpu_use(const Storage& storage, uint64_t pool, bool write) {
    StorageImpl* const impl = storage.get();
    if (!impl || !impl->data) return;
    const auto [at, added] = gpu_storage_uses_.try_emplace(impl);
    GpuStorageUse& use = at->second;
    use.is_written = use.is_written || write;
    if (!added) return;
    use.storage = storage;
    use.is_from_pool =
        impl->device.is_cuda() && !impl->deleter && cuda::private_pool_of(impl->device, impl->data) == pool;
    impl->is_held_by_capture = true;
    if (use.is_from_pool) live_gpu_storages_.push_back(impl);
  }

  struct GpuStorageUse {
    Storage storage;
    bool is_from_pool = false, is_written = false;
  };

  std::vector<LoopGroup> loop_groups_;
  std::vector<const Loop*> replay_loops_;  // loops that a replay runs
  std::vector<size_t> group_ends_;         // for each group of loops, the index in replay_loops_ after its last loop
  std::vector<std::function<void()>> updates_;
  std::unordered_map<StorageImpl*, StorageUse> storage_uses_;
  std::vector<StorageImpl*> live_storages_;
  std::unordered_map<StorageImpl*, GpuStorageUse> gpu_storage_uses_;
  std::vector<StorageImpl*> live_gpu_storages_;  // storages in gpu_storage_uses_ whose memory is from the graph's pool
  std::vector<Storage> retained_storages_;       // memory that GPU launches use and that is not from the graph's pool
  std::unique_ptr<cuda::CapturedWork> captured_work_;
  std::vector<Storage> written_storages_, temporaries_memory_;
  std::vector<StorageUse*> restored_uses_;
  Summary summary_;
};

/// Observer that records kernels and loops instead of executing them. Observes the threads that use a ThreadContext or
/// a copy of it.
class Graph::Recorder : public Observer {
 public:
  explicit Recorder(cuda::MempoolId_t pool)
      : capture_(std::make_shared<cuda::Capture>(pool, ThreadContext::current().streams,
                                                 [this] { release_gpu_temporaries(); })) {}
  /// The capture of GPU work.
  const std::shared_ptr<cuda::Capture>& capture() const { return capture_; }
  /// The capture's cache of autocast's casts. It is empty at first, so that a replay casts the weights again. A weight
  /// that the step uses twice is cast once, as without a capture.
  const std::shared_ptr<AutocastCache>& autocast_cache() const { return autocast_cache_; }
  /// The cache that the thread had before the capture.
  const std::shared_ptr<AutocastCache>& outer_autocast_cache() const { return outer_autocast_cache_; }
  void on_kernel_call(const KernelCall& call) override {
    if (!recording_ || call.device.is_cpu()) return pass_to_outer(call);
    const cuda::Stream& stream = cuda::current_stream(call.device);
    TANDEM_CHECK(gpu::is_capturing(stream.handle()), call.op, ": cannot be captured by a Graph: its stream on ",
                 call.device, " is not part of the capture; let that stream wait for an event of a captured stream");
    pass_to_outer(call);
    const std::lock_guard lock(mutex_);
    if (recording_) recorded_calls_->add(call, capture_->pool_id());
  }
  /// Releases GPU memory to which only the record of this recorder refers.
  void release_gpu_temporaries() {
    const std::lock_guard lock(mutex_);
    if (recording_) recorded_calls_->release_gpu_temporaries();
  }
  void on_run_loops(ArrayRef<Loop> loops) override {
    if (!try_record(loops)) pass_to_outer(loops);
  }
  void on_host_update(const std::function<void()>& update) override {
    if (!try_record(update)) pass_to_outer(update);
  }
  void on_unrecordable(const std::string& op, const char* why) override {
    TANDEM_CHECK(!recording_, op, ": cannot be captured by a Graph: ", why);
    pass_to_outer(op, why);
  }
  bool is_recording() const override { return recording_ || Observer::is_recording(); }
  /// Ends the recording. @return the record of the kernel calls and loops seen so far
  OwnedPtr<RecordedCalls> stop_recording() {
    const std::lock_guard lock(mutex_);
    recording_ = false;
    return std::move(recorded_calls_);
  }

 private:
  template <class What> bool try_record(const What& what) {
    const std::lock_guard lock(mutex_);
    if (recording_) recorded_calls_->add(what);
    return recording_;
  }
  std::atomic<bool> recording_{true};
  std::mutex mutex_;
  OwnedPtr<RecordedCalls> recorded_calls_{new RecordedCalls};
  const std::shared_ptr<AutocastCache> autocast_cache_ = std::make_shared<AutocastCache>(),
                                       outer_autocast_cache_ = ThreadContext::current().autocast.cache;
  const std::shared_ptr<cuda::Capture> capture_;
};

Graph::Graph() = default;
Graph::~Graph() { stop_capture(/*keep=*/false); }

/// Ends the capture, if one is under way. @return the record, or null if `keep` is false. Throws only if `keep` is true
OwnedPtr<Graph::RecordedCalls> Graph::stop_capture(bool keep) {
  if (!recorder_) return {};
  const std::shared_ptr<Recorder> recorder = std::move(recorder_);
  ThreadContext& context = ThreadContext::current();
  if (context.observer == recorder) context.observer = std::shared_ptr(recorder->outer());
  if (context.capture == recorder->capture()) context.capture = nullptr;
  if (context.autocast.cache == recorder->autocast_cache()) context.autocast.cache = recorder->outer_autocast_cache();
  recorder->autocast_cache()->clear();
  OwnedPtr<RecordedCalls> record = recorder->stop_recording();
  try {
    // Ends the capture before the record's memory is released.
    std::unique_ptr<cuda::CapturedWork> work = recorder->capture()->end_capture();
    if (!keep) return {};
    record->prepare_replay(std::move(work), optimize_);
  } catch (const std::exception&) {  // end_capture() throws, for example, if the runtime has invalidated the capture
    if (keep) throw;
    return {};
  }
  return record;
}

void Graph::capture(const std::function<void()>& step) {
  capture_begin();
  try {
    step();
  } catch (...) {
    stop_capture(/*keep=*/false);
    throw;
  }
  capture_end();
}
void Graph::capture_begin(cuda::MempoolId_t pool) {
  check_not_recorded("Graph::capture_begin", "a capture is under way on this thread");
  TANDEM_CHECK(!recorder_, "Graph::capture_begin: a capture of this graph is under way; call capture_end() first");
  reset();
  recorder_ = std::make_shared<Recorder>(pool);
  attach_observer(recorder_);
  ThreadContext::current().capture = recorder_->capture();
  ThreadContext::current().autocast.cache = recorder_->autocast_cache();
}
void Graph::capture_end() {
  TANDEM_CHECK(
      recorder_ && ThreadContext::current().observer == recorder_,
      "Graph::capture_end: capture_end() called before capture_begin(). This thread is not capturing into this graph");
  recorded_calls_ = stop_capture(/*keep=*/true);
}
void Graph::replay() {
  check_not_recorded("Graph::replay", "a capture is under way on this thread");
  TANDEM_CHECK(recorded_calls_, "Called CUDAGraph::replay without a preceding successful capture.");
  recorded_calls_->replay();
}
void Graph::reset() { recorded_calls_ = {}; }
cuda::MempoolId_t Graph::pool() const {
  TANDEM_CHECK(recorded_calls_ && recorded_calls_->captured_work(),
               "Called CUDAGraph::pool() without a preceding successful capture. The graph holds no GPU work");
  return recorded_calls_->captured_work()->pool().id();
}
Graph::Summary Graph::summary() const { return recorded_calls_ ? recorded_calls_->summary() : Summary(); }

}  // namespace tandem
