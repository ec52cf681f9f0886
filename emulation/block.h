// Block: emulates one block of CUDA threads. Each CUDA thread is a fiber: it runs until it waits (at a barrier, or for
// other lanes of its warp), and then another thread runs. If all threads wait, the block is in a deadlock, which is
// reported with the source location at which each thread waits.
#pragma once
#include <array>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/emulation/fences.h"
#include "tandem/emulation/fiber.h"
#include "tandem/emulation/running_thread.h"
#include "tandem/emulation/shared_memory.h"
#include "tandem/emulation/thread_order.h"

namespace tandem::emulation {

/// Pool of fibers for reuse, by the ThreadSanitizer identity of each fiber.
class FiberPool {
 public:
  Fiber* acquire_fiber(size_t identity);
  void release_fiber(size_t identity, Fiber* fiber) { by_identity_[identity]->idle.push_back(fiber); }

 private:
  struct IdentityFibers {
    TsanIdentity identity;
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::vector<Fiber*> idle;
  };
  std::vector<std::unique_ptr<IdentityFibers>> by_identity_;
};

/// Launch parameters, which are the same for all blocks of a grid.
struct LaunchParams {
  const char* name;
  dim3 grid, block;
  size_t shared_bytes;
  const std::function<void()>& thread_function;
};

/// Runs the blocks of grids one after another, on the host thread that constructed this object.
class Block {
 public:
  static constexpr unsigned kWarpSize = 32;
  /// Must be called before the first block of a grid. `launch` must exist until end_grid() has returned.
  void begin_grid(const LaunchParams& launch, OrderSetting order);
  /// Runs the block with this blockIdx, and returns when all its threads have ended. @throws CudaError on a deadlock or
  /// damaged shared memory; an exception that a thread throws
  void run_block(uint3 index);
  void end_grid();

  // Implementations of the functions that running_thread.h declares and documents.
  Votes sync_threads(const char* function_name, bool vote, SourceLocation location);
  struct LaneResult {
    uint64_t value;  // value that lane `source` passed; 0 if `source` is negative (no lane's value was requested)
    unsigned lanes;  // lanes that met
  };
  using WarpFunction = void (*)(const uint64_t (&values)[32]);
  LaneResult sync_lanes(const char* function_name, unsigned mask, uint64_t value, int source, uint64_t* all,
                        SourceLocation location, WarpFunction run = nullptr);
  void yield();
  void* shared_array(const SharedArray* declaration, size_t bytes);  // a null declaration means the dynamic array
  bool is_shared(const void* address, size_t bytes) const { return shared_memory_.contains(address, bytes); }
  void push_copy(const AsyncCopy& copy);
  bool pop_copy(AsyncCopy& copy);
  void fence(FenceScope scope);
  void before_atomic(const void* address);
  void after_atomic(const void* address);
  [[noreturn]] void fail(const std::string& problem, const SourceLocation* location);

 private:
  struct Thread {
    uint3 index{};
    unsigned thread_number = 0;
    Fiber* fiber = nullptr;               // fiber that runs the thread; null before its start and after its end
    const char* function_name = nullptr;  // name of the CUDA function in which the thread waits, or null
    SourceLocation location{};
    unsigned mask = 0;  // bit mask of the lanes that the thread waits for; 0: it waits for the whole block
    int source = -1;
    uint64_t value = 0;
    LaneResult lane_result{};
    uint64_t* all_values = nullptr;
    WarpFunction run = nullptr;
    std::vector<AsyncCopy> copies;  // copies that the thread has not waited for, oldest first
    std::string describe_wait() const;
  };
  struct WarpGroup {  // lanes that wait for each other with the same mask
    unsigned mask = 0, arrived = 0, phase = 0;
    // Consecutive synchronizations of the group use these two in turn. With a single SyncPoint, a lane that arrives at
    // the next synchronization would be ordered before lanes that are still leaving this one.
    std::array<SyncPoint, 2> sync_points{};
  };
  struct Warp {
    unsigned alive_lanes = 0;
    std::vector<WarpGroup> groups;
  };

  void start_block(uint3 index);
  size_t identity_of(const Thread& thread) const;
  void run_fiber();
  void run_thread(Thread& thread);
  void set_running(Thread& thread);
  Thread* pop_runnable();
  void make_runnable(Thread& thread);
  void make_runnable_first(Thread& thread);
  /// Appends the threads that pass the filter to the queue of runnable threads, in thread order or in reverse.
  template <class Filter> void make_all_runnable(Filter filter) {
    const bool backwards = order_setting_.order == ThreadOrder::reverse;
    for (size_t i = 0; i < threads_.size(); ++i)
      if (Thread& thread = threads_[backwards ? threads_.size() - 1 - i : i]; filter(thread)) make_runnable(thread);
  }
  void resume_thread(Thread& thread);
  void pause_thread(Thread& thread);
  void on_thread_end(const Thread& thread);
  void release_barrier();
  void complete_lane_sync(size_t warp, WarpGroup& group);
  WarpGroup& group_of(const Thread& thread, unsigned mask);
  void report_deadlock();
  void cancel_threads();
  std::string describe_position() const;

  const LaunchParams* launch_ = nullptr;
  // Value of std::uncaught_exceptions() at the start of the grid. It is not 0 if a destructor launches the grid while
  // an exception unwinds the stack.
  int num_uncaught_exceptions_ = 0;
  OrderSetting order_setting_;
  SplitMix64 random_;
  FiberPool fiber_pool_;
  SharedMemory shared_memory_;
  SyncPoint grid_starts_, grid_ends_;

  // state of the running block
  uint3 block_index_{};
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  unsigned num_alive_threads_ = 0;
  std::vector<Thread*> runnable_queue_;  // ring buffer that queues the runnable threads
  size_t queue_head_ = 0, queue_size_ = 0;
  Thread* running_thread_ = nullptr;
  Thread* deferred_thread_ = nullptr;  // thread that a fiber took from the queue, but could not run
  struct {
    unsigned arrived = 0, true_count = 0, phase = 0;
    const Thread* first_arrived = nullptr;
    Votes result{};
    std::array<SyncPoint, 2> sync_points;
  } barrier_;
  std::exception_ptr error_;
  bool is_cancelling_ = false;

  // state for ThreadSanitizer: see identity_of
  size_t num_identities_ = 1, identity_group_ = 0;
  Permutation warp_order_;
  std::vector<ThreadFences> fences_;
  SyncPointMap block_sync_points_, grid_sync_points_;
};

}  // namespace tandem::emulation
