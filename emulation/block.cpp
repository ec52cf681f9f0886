// Implements Block: schedules the threads of a block. The operations that make threads wait are in synchronize.cpp.
#include "tandem/emulation/block.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::emulation {

constinit thread_local Position position;
static thread_local Block* current_block = nullptr;  // block whose CUDA threads run on this host thread, or null

namespace {
/// Exception that ends a waiting CUDA thread, so that the objects on its stack are destroyed.
struct ThreadCancelled {};
}  // namespace

// ---- identities
//
// Note [ThreadSanitizer identities]
// ThreadSanitizer reports a race if two identities make conflicting accesses and nothing orders them. A grid cannot
// have one identity per thread: each takes 0.8 MB, the time of a release or acquire grows with their number, and newer
// versions (gcc 13, clang 14) remember only the last 255. So there are at most kMaxIdentities. A block uses up to
// kMaxIdentitiesOfBlock of them. The lanes of a warp always have different identities; in larger blocks several warps
// share theirs, in a random assignment for each block. Each block takes one of several groups of identities at random,
// but never the group of the block before it. Two blocks with one group could hide a race: if their threads access the
// same address, the accesses have one identity, and whatever a barrier ordered in the first block stays ordered in the
// second. With g groups, any two blocks of a grid are compared with probability 1 - 1/g, and neighbouring blocks
// always.

#if (defined(__clang__) && __clang_major__ >= 14) || (!defined(__clang__) && __GNUC__ >= 13)
constexpr size_t kMaxIdentities = 192, kMaxIdentitiesOfBlock = 64, kNumIdentityGroups = 6;
#else
constexpr size_t kMaxIdentities = 512, kMaxIdentitiesOfBlock = 128, kNumIdentityGroups = 8;
#endif

Fiber* FiberPool::acquire_fiber(size_t identity) {
  while (by_identity_.size() <= identity) by_identity_.push_back(std::make_unique<IdentityFibers>());
  IdentityFibers& fibers_of_identity = *by_identity_[identity];
  if (fibers_of_identity.idle.empty()) {
    fibers_of_identity.fibers.push_back(std::make_unique<Fiber>(fibers_of_identity.identity));
    return fibers_of_identity.fibers.back().get();
  }
  Fiber* const fiber = fibers_of_identity.idle.back();
  fibers_of_identity.idle.pop_back();
  return fiber;
}

size_t Block::identity_of(const Thread& thread) const {
  if constexpr (!kTsanEnabled) return 0;
  const size_t location = warp_order_[thread.thread_number / kWarpSize] % (num_identities_ / kWarpSize);
  return identity_group_ * num_identities_ + location * kWarpSize + thread.thread_number % kWarpSize;
}

// ---- a grid and its blocks

void Block::begin_grid(const LaunchParams& launch, OrderSetting order) {
  TANDEM_CHECK_AS(CudaError, !current_block, "kernel ", launch.name, ": started by a thread of kernel ",
                  current_block->launch_->name, "; only the host can start a kernel");
  launch_ = &launch;
  num_uncaught_exceptions_ = std::uncaught_exceptions();
  order_setting_ = order;
  uint64_t name = order.seed;
  for (const char* c = launch.name; *c; ++c) name = name * 31 + static_cast<unsigned char>(*c);
  random_ = SplitMix64(name);
  shared_memory_.set_dynamic_bytes(launch.shared_bytes);

  const size_t count = size_t{launch.block.x} * launch.block.y * launch.block.z;
  threads_.assign(count, {});
  for (unsigned i = 0; i < count; ++i) {
    const unsigned row = i / launch.block.x;
    threads_[i].index = {i % launch.block.x, row % launch.block.y, row / launch.block.y};
    threads_[i].thread_number = i;
  }
  warps_.clear();
  warps_.resize((count + kWarpSize - 1) / kWarpSize);
  runnable_queue_.assign(count, nullptr);
  num_identities_ = std::min(warps_.size() * kWarpSize, kMaxIdentitiesOfBlock);
  current_block = this;
  grid_starts_.release();
}

void Block::end_grid() {
  grid_ends_.acquire();
  grid_sync_points_.clear();
  current_block = nullptr;
  launch_ = nullptr;
}

void Block::start_block(uint3 index) {
  block_index_ = index;
  position.block = index;
  position.block_dim = launch_->block;
  position.grid_dim = launch_->grid;
  num_alive_threads_ = static_cast<unsigned>(threads_.size());
  for (size_t w = 0; w < warps_.size(); ++w) {
    const unsigned lanes = std::min(num_alive_threads_ - static_cast<unsigned>(w) * kWarpSize, kWarpSize);
    warps_[w].alive_lanes = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
    warps_[w].groups.clear();
  }
  barrier_.arrived = 0;
  if constexpr (kTsanEnabled) {
    barrier_.sync_points = {};
    const size_t blocks = size_t{launch_->grid.x} * launch_->grid.y * launch_->grid.z;
    const size_t groups = std::min({kMaxIdentities / num_identities_, kNumIdentityGroups, blocks});
    if (identity_group_ >= groups) identity_group_ = 0;
    if (groups > 1) identity_group_ = (identity_group_ + 1 + random_.next_below(groups - 1)) % groups;
    warp_order_ = Permutation::shuffled(warps_.size(), random_);
    fences_.assign(threads_.size(), {});
    block_sync_points_.clear();
  }
  queue_head_ = queue_size_ = 0;
  make_all_runnable([](const Thread&) { return true; });
}

void Block::run_block(uint3 index) {
  start_block(index);
  while (Thread* const next = error_ ? nullptr : pop_runnable()) resume_thread(*next);
  if (!error_ && num_alive_threads_ > 0) report_deadlock();
  if (error_) cancel_threads();
  const std::string damage = error_ ? "" : shared_memory_.describe_damage();
  shared_memory_.clear();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  if (!damage.empty()) fail(damage, nullptr);
}

// ---- scheduling: the queue holds the threads that can run, each at most once

void Block::make_runnable(Thread& thread) {
  thread.function_name = nullptr;
  const size_t at = queue_head_ + queue_size_++;
  runnable_queue_[at < runnable_queue_.size() ? at : at - runnable_queue_.size()] = &thread;
}

void Block::make_runnable_first(Thread& thread) {
  thread.function_name = nullptr;
  queue_head_ = (queue_head_ ? queue_head_ : runnable_queue_.size()) - 1;
  ++queue_size_;
  runnable_queue_[queue_head_] = &thread;
}

Block::Thread* Block::pop_runnable() {
  if (deferred_thread_) return std::exchange(deferred_thread_, nullptr);
  if (queue_size_ == 0) return nullptr;
  Thread*& first = runnable_queue_[queue_head_];
  if (order_setting_.order == ThreadOrder::shuffle)
    std::swap(first, runnable_queue_[(queue_head_ + random_.next_below(queue_size_)) % runnable_queue_.size()]);
  if (++queue_head_ == runnable_queue_.size()) queue_head_ = 0;
  --queue_size_;
  return first;
}

void Block::set_running(Thread& thread) {
  running_thread_ = &thread;
  position.thread = thread.index;
  position.lane = thread.thread_number % kWarpSize;
}

/// Runs `thread` until it waits or ends. If it ends, its fiber continues with threads that have not started yet.
void Block::resume_thread(Thread& thread) {
  set_running(thread);
  const size_t identity = identity_of(thread);
  Fiber* fiber = thread.fiber;
  if (fiber) {
    fiber->resume();
  } else {
    fiber = thread.fiber = fiber_pool_.acquire_fiber(identity);
    fiber->start([](void* block) { static_cast<Block*>(block)->run_fiber(); }, this);
  }
  running_thread_ = nullptr;
  if (fiber->has_ended()) fiber_pool_.release_fiber(identity, fiber);
}

/// Main function of a fiber. Runs the thread that the fiber was started for, then threads that have not started yet.
/// Most threads never wait, so this saves a switch of fibers for each.
void Block::run_fiber() {
  Fiber* const fiber = running_thread_->fiber;
  for (Thread* thread = running_thread_;;) {
    run_thread(*thread);
    thread->fiber = nullptr;
    // With ThreadSanitizer, a fiber has a fixed identity, so it cannot continue with a CUDA thread that has another
    // identity.
    if (kTsanEnabled || error_) return;
    thread = pop_runnable();
    if (!thread) return;
    if (thread->fiber) {  // the thread already has a fiber of its own, which only the host thread can resume
      deferred_thread_ = thread;
      return;
    }
    thread->fiber = fiber;
    set_running(*thread);
  }
}

void Block::run_thread(Thread& thread) {
  grid_starts_.acquire();
  try {
    launch_->thread_function();
  } catch (const ThreadCancelled&) {
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
  grid_ends_.release();
  const TsanIgnoreGuard ignore_guard;
  on_thread_end(thread);
}

void Block::pause_thread(Thread& thread) {
  thread.fiber->pause();
  // If an exception already unwinds the stack of the cancelled thread, a destructor has called this function. It then
  // returns instead of throwing, because destructors must not throw.
  if (is_cancelling_ && std::uncaught_exceptions() == num_uncaught_exceptions_) throw ThreadCancelled();
}

void Block::yield() {
  Thread& thread = *running_thread_;
  make_runnable(thread);
  pause_thread(thread);
}

/// Ends all waiting threads by ThreadCancelled, so that their stacks are unwound.
void Block::cancel_threads() {
  is_cancelling_ = true;
  deferred_thread_ = nullptr;
  for (Thread& thread : threads_)
    while (thread.fiber) resume_thread(thread);
  is_cancelling_ = false;
}

// ---- errors

static std::string format_index(uint3 v) {
  std::ostringstream out;
  out << '(' << v.x << ", " << v.y << ", " << v.z << ')';
  return out.str();
}
std::string Block::describe_position() const {
  return std::string("kernel ") + launch_->name + ", block " + format_index(block_index_) +
         (running_thread_ ? ", thread " + format_index(running_thread_->index) : "");
}
std::string Block::Thread::describe_wait() const {
  return "thread " + format_index(index) + " waits in " + function_name + " [" + location.text() + "]";
}

void Block::fail(const std::string& problem, const SourceLocation* location) {
  throw CudaError(describe_position() + ": " + problem + (location ? " [" + location->text() + "]" : ""));
}

void Block::report_deadlock() {
  struct Waiting {
    const Thread* first;
    unsigned count;
  };
  std::vector<Waiting> kinds;
  for (const Thread& thread : threads_) {
    if (!thread.fiber) continue;
    const auto same = [&](const Waiting& kind) {
      return kind.first->mask == thread.mask && kind.first->location == thread.location &&
             std::string_view(kind.first->function_name) == thread.function_name;
    };
    const auto at = std::find_if(kinds.begin(), kinds.end(), same);
    if (at != kinds.end())
      ++at->count;
    else
      kinds.push_back({&thread, 1});
  }
  std::ostringstream message;
  message << describe_position() << ": deadlock: ";
  for (size_t i = 0; i < kinds.size() && i < 4; ++i) {
    const auto& [first, count] = kinds[i];
    message << (i ? "; " : "") << first->describe_wait();
    if (first->mask) message << " for lanes 0x" << std::hex << first->mask << std::dec;
    if (count > 1) message << ", and " << count - 1 << " more";
  }
  if (kinds.size() > 4) message << "; and " << kinds.size() - 4 << " more places";
  if (const size_t ended = threads_.size() - num_alive_threads_) message << "; " << ended << " have ended";
  error_ = std::make_exception_ptr(CudaError(message.str()));
}

// ---- running_thread.h

static Block& running_block(const char* function_name) {
  TANDEM_CHECK_AS(CudaError, current_block, function_name, " was called outside a kernel; only device code may use it");
  return *current_block;
}
Votes sync_threads(const char* function_name, bool vote, SourceLocation location) {
  return running_block(function_name).sync_threads(function_name, vote, location);
}
uint64_t exchange_lanes(const char* function_name, unsigned mask, uint64_t value, int source, SourceLocation location) {
  return running_block(function_name).sync_lanes(function_name, mask, value, source, nullptr, location).value;
}
unsigned gather_lanes(const char* function_name, unsigned mask, uint64_t value, uint64_t (&all)[32],
                      SourceLocation location) {
  return running_block(function_name).sync_lanes(function_name, mask, value, -1, all, location).lanes;
}
void sync_warp(unsigned mask, SourceLocation location) {
  running_block("__syncwarp").sync_lanes("__syncwarp", mask, 0, -1, nullptr, location);
}
void run_for_warp(const char* function_name, uint64_t value, void (*run)(const uint64_t (&values)[32]),
                  SourceLocation location) {
  Block& block = running_block(function_name);
  const unsigned lanes = block.sync_lanes(function_name, ~0u, value, -1, nullptr, location, run).lanes;
  if (lanes != ~0u)
    block.fail(
        std::string(function_name) + ": all 32 lanes of the warp must take part, but some have ended or do not exist",
        &location);
}
void yield() { running_block("__nanosleep").yield(); }
void* shared_array(const SharedArray& declaration, size_t bytes) {
  return running_block(declaration.name).shared_array(&declaration, bytes);
}
void* dynamic_shared_array() { return running_block("dynamic shared memory").shared_array(nullptr, 0); }
bool is_shared(const void* address, size_t bytes) { return running_block("is_shared").is_shared(address, bytes); }
void push_copy(const AsyncCopy& copy) { running_block("an asynchronous copy").push_copy(copy); }
bool pop_copy(AsyncCopy& copy) { return running_block("an asynchronous copy").pop_copy(copy); }
void fence(FenceScope scope) { running_block("__threadfence").fence(scope); }
void before_atomic(const void* address) { running_block("an atomic operation").before_atomic(address); }
void after_atomic(const void* address) { running_block("an atomic operation").after_atomic(address); }
void fail(const std::string& problem, SourceLocation location) {
  running_block(problem.c_str()).fail(problem, &location);
}

}  // namespace tandem::emulation
