// Events of the GPU runtime that are kept for reuse.
#include "tandem/core/cuda/event_pool.h"

#include <array>
#include <mutex>
#include <shared_mutex>

#include "tandem/core/cuda/capture.h"

namespace tandem::cuda {
namespace {

/// Unused events of one device. They do not measure time.
struct EventPool {
  std::mutex mutex;
  std::vector<gpu::EventHandle> free_events;
  size_t num_events = 0;
};
EventPool& event_pool(int device) {
  static auto& pools = *new std::array<EventPool, kMaxDevices>();  // never destroyed: events may be static
  return pools[static_cast<size_t>(device)];
}

gpu::EventHandle acquire_event(int device) {
  EventPool& mine = event_pool(device);
  const std::lock_guard lock(mine.mutex);
  if (mine.free_events.empty()) {
    // reserves room for all events, so that ~PooledEvent() needs no memory
    mine.free_events.reserve(mine.num_events + 1);
    const gpu::EventHandle made = gpu::create_event(device);
    ++mine.num_events;
    return made;
  }
  const gpu::EventHandle kept = mine.free_events.back();
  mine.free_events.pop_back();
  return kept;
}

}  // namespace

PooledEvent::PooledEvent(int device, bool timing)
    : device_(device),
      enable_timing_(timing),
      handle_(timing ? gpu::create_event(device, true) : acquire_event(device)) {}
PooledEvent::~PooledEvent() {
  if (!handle_) return;
  if (enable_timing_) {
    gpu::destroy_event(handle_);
    return;
  }
  EventPool& mine = event_pool(device_);
  const std::lock_guard lock(mine.mutex);
  mine.free_events.push_back(handle_);
}

void StreamUses::add_stream(const Stream& stream) {
  for (const Use& each : uses_)
    if (each.stream == stream) return;
  uses_.push_back({stream, {}});
}
void StreamUses::Use::record_events() noexcept try {
  const std::shared_lock shared(captured_streams_mutex());
  if (gpu::is_capturing(stream.handle())) return;
  is_unrecorded = false;
  event.emplace(stream.device().index());
  gpu::record_event(event->handle(), stream.handle());
} catch (const std::exception&) {
  is_unrecorded = false;
  event.reset();
  try {
    gpu::synchronize_stream(stream.handle());
  } catch (const CudaError&) {  // the device failed: nothing runs on it any more
  }
}
void StreamUses::record_events() noexcept {
  for (Use& each : uses_) each.record_events();
}
bool StreamUses::is_done() noexcept {
  std::erase_if(uses_, [](Use& each) {
    if (each.is_unrecorded) each.record_events();
    if (each.is_unrecorded) return false;
    try {
      return !each.event || gpu::is_done(each.event->handle());
    } catch (const CudaError&) {
      return true;
    }
  });
  return uses_.empty();
}
void StreamUses::wait() noexcept {
  for (Use& each : uses_) try {
      if (each.is_unrecorded) each.record_events();
      if (each.event) gpu::synchronize_event(each.event->handle());
    } catch (const CudaError&) {  // the device failed: nothing runs on it any more
    }
}

}  // namespace tandem::cuda
