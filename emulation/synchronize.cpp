// Implements the operations of Block that make threads wait: barriers of the block, and operations of the lanes of a
// warp.
#include <atomic>
#include <bit>
#include <sstream>
#include <string_view>
#include <utility>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/emulation/block.h"

namespace tandem::emulation {

// ---- barriers

Votes Block::sync_threads(const char* function_name, bool vote, SourceLocation location) {
  Thread& me = *running_thread_;
  SyncPoint& order = barrier_.sync_points[barrier_.phase % 2];
  {
    const TsanIgnoreGuard ignore_guard;
    if (barrier_.arrived == 0) {
      barrier_.first_arrived = &me;
      barrier_.true_count = 0;
    } else if (!(barrier_.first_arrived->location == location)) {
      fail(std::string("divergent barrier: it is in ") + function_name + ", while " +
               barrier_.first_arrived->describe_wait() + "; all threads must be in the same one",
           &location);
    }
    me.function_name = function_name;
    me.location = location;
    me.mask = 0;
    barrier_.true_count += vote;
    order.release();
    if (++barrier_.arrived == num_alive_threads_) release_barrier();
  }
  pause_thread(me);
  order.acquire();
  // still the result of this barrier: the next barrier cannot end before this thread arrives there
  return barrier_.result;
}

void Block::release_barrier() {
  barrier_.result = {barrier_.true_count, barrier_.arrived};
  barrier_.arrived = 0;
  ++barrier_.phase;
  make_all_runnable([](const Thread& thread) { return thread.function_name && thread.mask == 0; });
}

// ---- meetings of lanes

static std::string hex(unsigned mask) {
  std::ostringstream text;
  text << "0x" << std::hex << mask;
  return text.str();
}

Block::WarpGroup& Block::group_of(const Thread& thread, unsigned mask) {
  Warp& warp = warps_[thread.thread_number / kWarpSize];
  for (WarpGroup& group : warp.groups)
    if (group.mask == mask) return group;
  warp.groups.emplace_back().mask = mask;
  return warp.groups.back();
}

Block::LaneResult Block::sync_lanes(const char* function_name, unsigned mask, uint64_t value, int source, uint64_t* all,
                                    SourceLocation location, WarpFunction run) {
  Thread& me = *running_thread_;
  const unsigned lane = me.thread_number % kWarpSize;
  // only __syncwarp orders memory accesses; it asks for no values of lanes
  const bool orders = source < 0 && !all && !run;
  unsigned turn = 0;
  {
    const TsanIgnoreGuard ignore_guard;
    if (!(mask >> lane & 1))
      fail(std::string(function_name) + ": lane " + std::to_string(lane) + " is not in its own mask " + hex(mask) +
               "; a mask must contain the calling lane",
           &location);
    WarpGroup& group = group_of(me, mask);
    if (group.arrived) {
      const Thread& other = threads_[me.thread_number - lane + std::countr_zero(group.arrived)];
      if (other.function_name != function_name && std::string_view(other.function_name) != function_name)
        fail(std::string(function_name) + " for lanes " + hex(mask) + ", while " + other.describe_wait() +
                 " for the same lanes; all lanes of a mask must call the same function",
             &location);
    }
    me.function_name = function_name;
    me.location = location;
    me.mask = mask;
    me.value = value;
    me.source = source;
    me.all_values = all;
    me.run = run;
    turn = group.phase % 2;
    if (orders) group.sync_points[turn].release();
    group.arrived |= 1u << lane;
    if (group.arrived == (mask & warps_[me.thread_number / kWarpSize].alive_lanes))
      complete_lane_sync(me.thread_number / kWarpSize, group);
  }
  pause_thread(me);
  if (orders) group_of(me, mask).sync_points[turn].acquire();
  if (source >= 0 && !(me.lane_result.lanes >> source & 1))
    fail(std::string(function_name) + ": lane " + std::to_string(lane) + " reads lane " + std::to_string(source) +
             (mask >> source & 1 ? ", which has ended" : ", which is not in its mask " + hex(mask)),
         &location);
  return me.lane_result;
}

void Block::complete_lane_sync(size_t warp, WarpGroup& group) {
  Thread* const lanes = &threads_[warp * kWarpSize];
  const unsigned arrived = std::exchange(group.arrived, 0u);
  ++group.phase;
  if (const WarpFunction run = lanes[std::countr_zero(arrived)].run; run && arrived == ~0u) {
    uint64_t values[kWarpSize];
    for (unsigned i = 0; i < kWarpSize; ++i) values[i] = lanes[i].value;
    run(values);
  }
  for (unsigned rest = arrived; rest; rest &= rest - 1) {
    Thread& thread = lanes[std::countr_zero(rest)];
    thread.lane_result = {0, arrived};
    if (thread.source >= 0 && (arrived >> thread.source & 1)) thread.lane_result.value = lanes[thread.source].value;
    if (!thread.all_values) continue;
    for (unsigned i = 0; i < kWarpSize; ++i) thread.all_values[i] = arrived >> i & 1 ? lanes[i].value : 0;
  }
  // The lanes that were synchronized run next, before other warps, because the data of 32 threads fits into the L1
  // cache.
  const bool backwards = order_setting_.order == ThreadOrder::reverse;
  for (unsigned i = 0; i < kWarpSize; ++i)
    if (const unsigned lane = backwards ? i : kWarpSize - 1 - i; arrived >> lane & 1) make_runnable_first(lanes[lane]);
}

void Block::on_thread_end(const Thread& thread) {
  --num_alive_threads_;
  threads_[thread.thread_number].copies.clear();
  const size_t w = thread.thread_number / kWarpSize;
  Warp& warp = warps_[w];
  warp.alive_lanes &= ~(1u << thread.thread_number % kWarpSize);
  if (error_) return;
  // If all other threads of the block or of the warp group have arrived, they waited only for this thread.
  if (barrier_.arrived && barrier_.arrived == num_alive_threads_) release_barrier();
  for (WarpGroup& group : warp.groups)
    if (group.arrived && group.arrived == (group.mask & warp.alive_lanes)) complete_lane_sync(w, group);
}

// ---- memory

void* Block::shared_array(const SharedArray* declaration, size_t bytes) {
  const TsanIgnoreGuard ignore_guard;
  try {
    return declaration ? shared_memory_.find_or_allocate_array(*declaration, bytes)
                       : shared_memory_.allocate_dynamic_array();
  } catch (const CudaError& error) {
    fail(error.what(), declaration ? &declaration->location : nullptr);
  }
}

void Block::push_copy(const AsyncCopy& copy) {
  const TsanIgnoreGuard ignore_guard;
  running_thread_->copies.push_back(copy);
}
bool Block::pop_copy(AsyncCopy& copy) {
  const TsanIgnoreGuard ignore_guard;
  std::vector<AsyncCopy>& copies = running_thread_->copies;
  if (copies.empty()) return false;
  copy = copies.front();
  copies.erase(copies.begin());
  return true;
}
void Block::fence(FenceScope scope) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if constexpr (kTsanEnabled) {
    const TsanIgnoreGuard ignore_guard;
    fences_[running_thread_->thread_number].fence(scope, block_sync_points_, grid_sync_points_);
  }
}
void Block::before_atomic(const void* address) {
  if constexpr (kTsanEnabled) {
    const TsanIgnoreGuard ignore_guard;
    fences_[running_thread_->thread_number].before_atomic(address, block_sync_points_, grid_sync_points_);
  }
}
void Block::after_atomic(const void* address) {
  if constexpr (kTsanEnabled) {
    const TsanIgnoreGuard ignore_guard;
    fences_[running_thread_->thread_number].after_atomic(address, block_sync_points_, grid_sync_points_);
  }
}

}  // namespace tandem::emulation
