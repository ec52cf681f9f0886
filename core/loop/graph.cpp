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
  size_t order;       // position of the storage in the order of first use
  int first, last;    // indices of the first and the last group that use the storage; last is -1 if no group uses it
  bool has_contents;  // whether the storage has contents that the recorded loops do not produce
  bool written;
  std::vector<char> start;  // contents of the storage that each replay restores before it starts
  /// Whether the storage is a temporary: nothing needs its contents before or after a replay.
  bool is_temporary() const { return storage->use_count() == 1 && !has_contents; }
};

/// Assigns offsets in a block of memory, which temporaries with disjoint lifetimes can share. The largest temporaries
/// are placed first, and of equal sizes the one that is used first. Each gets the lowest offset that is free during its
/// lifetime. @return number of bytes needed
int64_t place(std::vector<std::pair<StorageUse*, int64_t>>& uses) {
  constexpr int64_t kAlignment = 64;
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) {
    return std::pair(-a.first->bytes, a.first->order) < std::pair(-b.first->bytes, b.first->order);
  });
  std::vector<std::pair<StorageUse*, int64_t>> placed;  // sorted by offset
  int64_t total = 0;
  for (auto& [use, at] : uses) {
    at = 0;
    for (const auto& [other, there] : placed) {
      if (other->last < use->first || use->last < other->first) continue;
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

class Graph::Record {
 public:
  ~Record() {
    for (auto& [impl, use] : uses_) impl->recorded = false;
    for (auto& [impl, use] : gpu_uses_) impl->recorded = false;
    if (!work_) return;
    for (const Storage& storage : retained_) work_->record_use(storage->device, storage->data);
  }
  void add(ArrayRef<Loop> loops) {
    const int group = static_cast<int>(groups_.size());
    LoopGroup& kept = groups_.emplace_back();
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
    std::erase_if(gpu_live_, [this](StorageImpl* impl) { return impl->use_count() == 1 && gpu_uses_.erase(impl) > 0; });
  }

  /// Plans the memory and prepares the replay. Call this when everything is recorded.
  void finish(std::unique_ptr<cuda::CapturedWork> work, bool optimize) {
    release_gpu_temporaries();
    for (auto& [impl, use] : gpu_uses_) {
      impl->recorded = false;
      if (use.written) written_.push_back(use.storage);
      if (!use.pooled) retained_.push_back(std::move(use.storage));
    }
    gpu_uses_.clear();
    gpu_live_.clear();
    work_ = std::move(work);
    release_temporaries();
    if (optimize) {
      drop_unused_loops(groups_, [this](const Operand& written) { return find_use(written).is_temporary(); });
      chain_elementwise_loops(groups_);
    }
    set_lifetimes();
    std::map<int, std::vector<std::pair<StorageUse*, int64_t>>> by_device;
    for (auto& [impl, use] : uses_) {
      impl->recorded = false;
      if (impl->use_count() > 1) {
        if (use.written) written_.push_back(use.storage);
      } else if (!use.has_contents) {
        if (use.last < 0) continue;
        summary_.unshared_bytes += use.bytes;
        if (!is_chain_temporary(use)) by_device[impl->device.index()].push_back({&use, 0});
      } else if (use.written && use.bytes > 0) {
        use.start.assign(impl->data, impl->data + use.bytes);
        restored_.push_back(&use);
      }
    }
    for (auto& [device, uses] : by_device) {
      const int64_t bytes = place(uses);
      summary_.bytes += bytes;
      memory_.push_back(Storage(new StorageImpl(Device(kCPU, device), bytes)));
      for (auto& [use, at] : uses) use->storage->reset_data(memory_.back()->data + at);
    }
    for (const LoopGroup& group : groups_) {
      const auto count = static_cast<int64_t>(group.all().size());
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
    // The last launch may still read memory that the loops write.
    if (work_ && !replay_loops_.empty()) work_->synchronize();
    if (work_) work_->wait();
    for (const auto& update : updates_) update();
    for (const StorageUse* use : restored_) std::memcpy(use->storage->data, use->start.data(), use->start.size());
    for (const Storage& storage : written_) storage->version.fetch_add(1, std::memory_order_relaxed);
    size_t first = 0;
    for (const size_t end : group_ends_) {
      run_unobserved(ArrayRef<const Loop*>(replay_loops_.data() + first, end - first));
      first = end;
    }
    if (work_) work_->launch();
  }
  Summary summary() const {
    Summary out = summary_;
    if (work_)
      for (const Device device : work_->devices())
        out.gpu_bytes += cuda::private_pool_reserved(device, work_->pool().number());
    return out;
  }
  const cuda::CapturedWork* work() const { return work_.get(); }

 private:
  void add_use(const Operand& operand, int group, bool write) {
    StorageImpl* const impl = key(operand.buffer);
    const auto [at, added] = uses_.try_emplace(impl);
    StorageUse& use = at->second;
    if (added) {
      use = {Storage(impl), impl->bytes, uses_.size(), group, group, /*has_contents=*/impl->deleter != nullptr,
             false,         {}};
      live_.push_back(impl);
      impl->recorded = true;
    }
    // If the first group that uses the storage does not write all of it, the contents come from elsewhere, for example
    // from the host.
    if (use.first == group && (!write || operand.bytes < impl->bytes)) use.has_contents = true;
    use.last = group;
    use.written = use.written || write;
  }
  /// Frees storages that only the record refers to, so that a capture takes no more memory than the step itself; they
  /// are not used again before finish() places them. Storages with contents (`has_contents`) stay.
  void release_temporaries() {
    std::erase_if(live_, [this](StorageImpl* impl) {
      if (impl->use_count() > 1) return false;
      if (!uses_.at(impl).has_contents) impl->reset_data(nullptr);
      return true;
    });
  }

  /// Determines the lifetimes of all storages for the current groups. A temporary that only one chain (elementwise
  /// loops fused into one pass) uses needs no memory of its own afterwards.
  void set_lifetimes() {
    for (auto& [impl, use] : uses_) use.last = -1;
    for (size_t g = 0; g < groups_.size(); ++g)
      for (const RecordedLoop& loop : groups_[g].all())
        for (int k = 0; k < loop.get().operand_count; ++k) {
          if (!loop.get().operands[k].buffer) continue;
          StorageUse& use = find_use(loop.get().operands[k]);
          if (use.last < 0) use.first = static_cast<int>(g);
          use.last = static_cast<int>(g);
        }
    for (LoopGroup& group : groups_)
      if (group.chain)
        group.chain->finish([&](const StorageImpl* storage) { return is_chain_temporary(uses_.at(key(storage))); });
  }
  /// Whether the storage is a temporary that is used only within one chain of elementwise loops, which are fused into
  /// one pass.
  bool is_chain_temporary(const StorageUse& use) const {
    const LoopGroup& group = groups_[static_cast<size_t>(use.first)];
    return use.is_temporary() && use.first == use.last && group.chain && group.chain->loops().size() > 1;
  }
  static StorageImpl* key(const Buffer* buffer) { return static_cast<StorageImpl*>(const_cast<Buffer*>(buffer)); }
  StorageUse& find_use(const Operand& operand) { return uses_.at(key(operand.buffer)); }

  /// Notes the storage of a tensor that a GPU call uses. Memory of the graph's pool may return to the pool once nothing
  /// else refers to it; all other memory is kept, because launches use it.
  void add_gpu_use(const Storage& storage, uint64_t pool, bool write) {
    StorageImpl* const impl = storage.get();
    if (!impl || !impl->data) return;
    const auto [at, added] = gpu_uses_.try_emplace(impl);
    GpuStorageUse& use = at->second;
    use.written = use.written || write;
    if (!added) return;
    use.storage = storage;
    use.pooled = impl->device.is_cuda() && !impl->deleter && cuda::private_pool_of(impl->device, impl->data) == pool;
    impl->recorded = true;
    if (use.pooled) gpu_live_.push_back(impl);
  }

  struct GpuStorageUse {
    Storage storage;
    bool pooled = false, written = false;
  };

  std::vector<LoopGroup> groups_;
  std::vector<const Loop*> replay_loops_;  // loops that a replay runs
  std::vector<size_t> group_ends_;         // for each group of loops, the index in replay_loops_ after its last loop
  std::vector<std::function<void()>> updates_;
  std::unordered_map<StorageImpl*, StorageUse> uses_;
  std::vector<StorageImpl*> live_;
  std::unordered_map<StorageImpl*, GpuStorageUse> gpu_uses_;
  std::vector<StorageImpl*> gpu_live_;  // storages in gpu_uses_ whose memory is from the graph's pool
  std::vector<Storage> retained_;       // memory that GPU launches use and that is not from the graph's pool
  std::unique_ptr<cuda::CapturedWork> work_;
  std::vector<Storage> written_, memory_;
  std::vector<StorageUse*> restored_;
  Summary summary_;
};

/// Observer that records the kernels and loops of a ThreadContext and its copies, without executing them.
class Graph::Recorder : public Observer {
 public:
  explicit Recorder(cuda::MempoolId_t pool)
      : capture_(std::make_shared<cuda::Capture>(pool, ThreadContext::current().streams, [this] { release(); })) {}
  /// The capture of GPU work.
  const std::shared_ptr<cuda::Capture>& capture() const { return capture_; }
  /// The capture's cache of autocast's casts. It is empty at first, so that a replay casts the weights again. A weight
  /// that the step uses twice is cast once, as without a capture.
  const std::shared_ptr<AutocastCache>& casts() const { return casts_; }
  /// The cache that the thread had before the capture.
  const std::shared_ptr<AutocastCache>& outer_casts() const { return outer_casts_; }
  void on_call(const KernelCall& call) override {
    if (!recording_ || call.device.is_cpu()) return pass(call);
    const cuda::Stream& stream = cuda::current_stream(call.device);
    TANDEM_CHECK(gpu::is_capturing(stream.handle()), call.op, ": cannot be captured by a Graph: its stream on ",
                 call.device, " is not part of the capture; let that stream wait for an event of a captured stream");
    pass(call);
    const std::lock_guard lock(mutex_);
    if (recording_) record_->add(call, capture_->pool());
  }
  /// Releases GPU memory to which only the record of this recorder refers.
  void release() {
    const std::lock_guard lock(mutex_);
    if (recording_) record_->release_gpu_temporaries();
  }
  void on_run(ArrayRef<Loop> loops) override {
    if (!try_record(loops)) pass(loops);
  }
  void on_update(const std::function<void()>& update) override {
    if (!try_record(update)) pass(update);
  }
  void on_unrecordable(const std::string& op, const char* why) override {
    TANDEM_CHECK(!recording_, op, ": cannot be captured by a Graph: ", why);
    pass(op, why);
  }
  bool is_recording() const override { return recording_ || Observer::is_recording(); }
  /// Ends the recording. @return the record of the kernel calls and loops seen so far
  Owned<Record> stop() {
    const std::lock_guard lock(mutex_);
    recording_ = false;
    return std::move(record_);
  }

 private:
  template <class What> bool try_record(const What& what) {
    const std::lock_guard lock(mutex_);
    if (recording_) record_->add(what);
    return recording_;
  }
  std::atomic<bool> recording_{true};
  std::mutex mutex_;
  Owned<Record> record_{new Record};
  const std::shared_ptr<AutocastCache> casts_ = std::make_shared<AutocastCache>(),
                                       outer_casts_ = ThreadContext::current().autocast.cache;
  const std::shared_ptr<cuda::Capture> capture_;
};

Graph::Graph() = default;
Graph::~Graph() { stop(/*keep=*/false); }

/// Ends the capture, if one is under way. @return the record, or null if `keep` is false. Throws only if `keep` is true
Owned<Graph::Record> Graph::stop(bool keep) {
  if (!recorder_) return {};
  const std::shared_ptr<Recorder> recorder = std::move(recorder_);
  ThreadContext& context = ThreadContext::current();
  if (context.observer == recorder) context.observer = std::shared_ptr(recorder->outer());
  if (context.capture == recorder->capture()) context.capture = nullptr;
  if (context.autocast.cache == recorder->casts()) context.autocast.cache = recorder->outer_casts();
  recorder->casts()->clear();
  Owned<Record> record = recorder->stop();
  try {
    // Ends the capture before the record's memory is released.
    std::unique_ptr<cuda::CapturedWork> work = recorder->capture()->end();
    if (!keep) return {};
    record->finish(std::move(work), optimize_);
  } catch (const std::exception&) {  // for example because the runtime has invalidated the capture
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
    stop(/*keep=*/false);
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
  ThreadContext::current().autocast.cache = recorder_->casts();
}
void Graph::capture_end() {
  TANDEM_CHECK(
      recorder_ && ThreadContext::current().observer == recorder_,
      "Graph::capture_end: capture_end() called before capture_begin(). This thread is not capturing into this graph");
  record_ = stop(/*keep=*/true);
}
void Graph::replay() {
  check_not_recorded("Graph::replay", "a capture is under way on this thread");
  TANDEM_CHECK(record_, "Called CUDAGraph::replay without a preceding successful capture.");
  record_->replay();
}
void Graph::reset() { record_ = {}; }
cuda::MempoolId_t Graph::pool() const {
  TANDEM_CHECK(record_ && record_->work(),
               "Called CUDAGraph::pool() without a preceding successful capture. The graph holds no GPU work");
  return record_->work()->pool().id();
}
Graph::Summary Graph::summary() const { return record_ ? record_->summary() : Summary(); }

}  // namespace tandem
