// Capture: begins and ends the capture of a CUDA graph, with its streams and its memory pool.
#include "tandem/core/cuda/capture.h"

#include <unordered_map>

#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/event_pool.h"
#include "tandem/core/cuda/fault.h"
#include "tandem/core/cuda/page_locked.h"
#include "tandem/core/loop/run_loop.h"

namespace tandem::cuda {
namespace {

uint64_t next_pool_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}
/// All memory pools in use, by ID.
struct MemoryPoolRegistry {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::weak_ptr<MemoryPool>> by_id;
};
MemoryPoolRegistry& memory_pools() {
  static auto& only = *new MemoryPoolRegistry;  // never destroyed: graphs may be static
  return only;
}

}  // namespace

std::shared_mutex& captured_streams_mutex() {
  static auto& only = *new std::shared_mutex;  // never destroyed: tensors may be static
  return only;
}

MempoolId_t graph_pool_handle() { return {0, next_pool_id()}; }

std::shared_ptr<MemoryPool> MemoryPool::find_or_create(MempoolId_t id) {
  if (id == MempoolId_t{}) id = {next_pool_id(), 0};
  TANDEM_CHECK(id.first == 0 || id.second == 0, "Graph::capture_begin: the pool is {", id.first, ", ", id.second,
               "}; accepted: a value returned by Graph::pool() or graph_pool_handle()");
  const std::shared_ptr<MemoryPool> made(new MemoryPool(id));
  const std::lock_guard lock(memory_pools().mutex);
  std::weak_ptr<MemoryPool>& known = memory_pools().by_id[made->allocator_pool_id()];
  if (std::shared_ptr<MemoryPool> held = known.lock()) return held;
  known = made;
  return made;
}
MemoryPool::~MemoryPool() {
  for (const auto& [index, stream] : streams_) release_private_pool(stream.device(), allocator_pool_id());
  const std::lock_guard lock(memory_pools().mutex);
  if (const auto at = memory_pools().by_id.find(allocator_pool_id());
      at != memory_pools().by_id.end() && at->second.expired())
    memory_pools().by_id.erase(at);
}
const Stream& MemoryPool::stream(Device device) {
  const std::lock_guard lock(mutex_);
  auto at = streams_.find(device.index());
  if (at == streams_.end()) at = streams_.emplace(device.index(), Stream(device)).first;
  return at->second;
}

void CapturedWork::wait() const {
  if (!launch_stream_) return;
  for (const Device device : devices_)
    if (const Stream& stream = current_stream(device); !(stream == *launch_stream_))
      stream.wait_event(last_launch_event_);
}
void CapturedWork::synchronize() const {
  if (launch_stream_) last_launch_event_.synchronize();
}
void CapturedWork::launch() {
  const Stream stream = current_stream(devices_[0]);
  for (const Device device : devices_)
    if (device != devices_[0]) stream.wait_stream(current_stream(device));
  {
    const gpu::DeviceGuard guard(stream.device().index());
    gpu::launch_graph(graph_, stream.handle());
  }
  launch_stream_ = std::make_unique<Stream>(stream);
  last_launch_event_.record(stream);
  for (const Device device : devices_)
    if (device != devices_[0]) current_stream(device).wait_event(last_launch_event_);
}
void CapturedWork::record_memory_use(Device device, void* data) const {
  if (!launch_stream_ || !data) return;
  if (device.is_cuda())
    record_stream(device, data, *launch_stream_);
  else
    record_page_locked_use(data, *launch_stream_);
}

Capture::Capture(MempoolId_t pool, Streams streams, std::function<void()> before_allocation)
    : initial_streams_(std::move(streams)),
      pool_(MemoryPool::find_or_create(pool)),
      pool_id_(pool_->allocator_pool_id()),
      before_allocation_(std::move(before_allocation)) {
  TANDEM_CHECK(!pool_->is_capturing_.exchange(true), "Graph::capture_begin: another capture uses the pool {",
               pool_->id().first, ", ", pool_->id().second,
               "}; a pool serves one capture at a time; end that capture first, or pass another pool");
}
Capture::~Capture() {
  try {
    end_capture();
  } catch (const std::exception&) {  // errors are ignored, because the captured work is dropped
  }
}

const Stream& Capture::capture_stream_for(const Stream& current) {
  const Device device = current.device();
  const std::lock_guard lock(mutex_);
  if (is_ended_ || !(uncaptured_stream_of(initial_streams_, device) == current)) return current;
  auto at = streams_.find(device.index());
  if (at == streams_.end()) {
    begin_capture(current);
    at = streams_.find(device.index());
  }
  return at->second;
}
void Capture::begin_capture(const Stream& current) {
  const Device device = current.device();
  const gpu::UnsafeCallsGuard unsafe;
  // Kernels report invalid indices in the device's fault word. It is allocated before the capture, because a capture
  // forbids the allocation.
  device_fault(device);
  const Stream& mine = current == default_stream(device) ? pool_->stream(device) : current;
  // Creates the pool's stream on this device, because the pool's streams show on which devices the pool has memory.
  pool_->stream(device);
  begin_allocate_to_private_pool(device, pool_id_);
  try {
    const std::lock_guard alone(captured_streams_mutex());
    if (streams_.empty()) {
      TANDEM_CHECK(begin_thread_id_ == std::this_thread::get_id(), "Graph: the first work on ", device,
                   " must be queued by the thread that called capture_begin");
      gpu::begin_capture(mine.handle());
    } else {
      const Stream& first = streams_.at(devices_[0].index());
      const PooledEvent fork(first.device().index());
      gpu::record_event(fork.handle(), first.handle());
      gpu::wait_event(mine.handle(), fork.handle());
    }
  } catch (...) {
    end_allocate_to_private_pool(device, pool_id_);
    throw;
  }
  streams_.emplace(device.index(), mine);
  devices_.push_back(device);
  is_active_ = true;
}
std::unique_ptr<CapturedWork> Capture::end_capture() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_ended_, true)) return nullptr;
  is_active_ = false;
  const std::shared_ptr<MemoryPool> pool = std::move(pool_);
  gpu::GraphHandle graph = nullptr;
  std::exception_ptr failure;
  if (!streams_.empty()) {
    const Stream& first = streams_.at(devices_[0].index());
    try {
      for (const auto& [index, stream] : streams_)
        if (!(stream == first)) {
          const PooledEvent join(index);
          gpu::record_event(join.handle(), stream.handle());
          gpu::wait_event(first.handle(), join.handle());
        }
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      graph = gpu::end_capture(first.handle());
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  for (const Device device : devices_) end_allocate_to_private_pool(device, pool_id_);
  pool->is_capturing_ = false;
  std::unique_ptr<CapturedWork> work;
  if (graph) work = std::make_unique<CapturedWork>(graph, pool, devices_);
  if (failure) std::rethrow_exception(failure);
  return work;
}

UncapturedGuard::UncapturedGuard() : saved_capture_(std::exchange(ThreadContext::current().capture, nullptr)) {
  if (saved_capture_) unsafe_calls_guard_.emplace();
}
UncapturedGuard::~UncapturedGuard() { ThreadContext::current().capture = std::move(saved_capture_); }

Capture* current_capture() {
  Capture* const capture = ThreadContext::current().capture.get();
  return capture && capture->is_active() ? capture : nullptr;
}
bool is_current_stream_capturing() { return current_capture() != nullptr; }
void check_not_captured(const char* op) {
  if (current_capture()) [[unlikely]]
    check_not_recorded(op, "the host waits for a GPU");
}

}  // namespace tandem::cuda
