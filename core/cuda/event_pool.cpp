// Events of the GPU runtime that are kept for reuse.
#include "tandem/core/cuda/event_pool.h"

#include <array>
#include <mutex>
#include <shared_mutex>

#include "tandem/core/cuda/capture.h"

namespace tandem::cuda {
namespace {

/// Unused events without timing of one device.
struct EventPool {
  std::mutex mutex;
  std::vector<gpu::EventHandle> free;
  size_t made = 0;
};
EventPool& pool(int device) {
  static auto& pools = *new std::array<EventPool, kMaxDevices>();  // never destroyed: events may be static
  return pools[static_cast<size_t>(device)];
}

gpu::EventHandle acquire_event(int device) {
  EventPool& mine = pool(device);
  const std::lock_guard lock(mine.mutex);
  if (mine.free.empty()) {
    mine.free.reserve(mine.made + 1);  // reserves room for all events, so that ~PooledEvent() needs no memory
    const gpu::EventHandle made = gpu::create_event(device);
    ++mine.made;
    return made;
  }
  const gpu::EventHandle kept = mine.free.back();
  mine.free.pop_back();
  return kept;
}

}  // namespace

PooledEvent::PooledEvent(int device, bool timing)
    : device_(device), timing_(timing), handle_(timing ? gpu::create_event(device, true) : acquire_event(device)) {}
PooledEvent::~PooledEvent() {
  if (!handle_) return;
  if (timing_) {
    gpu::destroy_event(handle_);
    return;
  }
  EventPool& mine = pool(device_);
  const std::lock_guard lock(mine.mutex);
  mine.free.push_back(handle_);
}

void StreamUses::add(const Stream& stream) {
  for (const Use& each : uses_)
    if (each.stream == stream) return;
  uses_.push_back({stream, {}});
}
void StreamUses::Use::record_events() noexcept try {
  const std::shared_lock shared(captured_streams_mutex());
  if (gpu::is_capturing(stream.handle())) return;
  unrecorded = false;
  event.emplace(stream.device().index());
  gpu::record_event(event->handle(), stream.handle());
} catch (const std::exception&) {
  unrecorded = false;
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
    if (each.unrecorded) each.record_events();
    if (each.unrecorded) return false;
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
      if (each.unrecorded) each.record_events();
      if (each.event) gpu::synchronize_event(each.event->handle());
    } catch (const CudaError&) {  // the device failed: nothing runs on it any more
    }
}

}  // namespace tandem::cuda
