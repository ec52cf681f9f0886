// Thread pool: distributes chunks to threads; idle threads wait for work.
#include "tandem/core/threads/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tandem/core/internal.h"
#include "tandem/core/thread_context.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/spinner.h"
#include "tandem/core/threads/start_thread.h"

// Note [How a job gets helpers]
// A caller claims a slot, writes its job into the slot, opens seats for helpers, and increments the pool's epoch. It
// then takes chunks from the slot's counters until none is left, closes the seats, and waits for the helpers in taken
// seats. A worker searches the slots for a free seat. If there is none, it watches the epoch, first spinning, then
// sleeping. No lock is taken.
// - Slots are never freed, so a worker may look at a slot whose job is over. Only a worker that got a seat reads the
//   job: its exchange synchronizes with the store that opened the seats, and the caller waits until the seat is given
//   back.
// - No wakeup is lost: the caller increments the epoch and then reads the number of sleepers; a worker counts itself as
//   a sleeper and then compares the epoch. All are sequentially consistent, so at least one of the two sees the other.
// - Nothing depends on workers: the caller alone can finish any job. So workers may be stopped at any time.
// The chunks are divided into parts, one for each thread. A thread starts with its own part and then helps with others.
// So in job after job the same thread works on the same memory, and no core prefetches chunks of its neighbour while
// that core writes them. With chunks handed out in turn, a pass over 4 MiB took two cores twice as long.

namespace tandem {
namespace {

constexpr int kMaxThreads = 1024;
// maximum number of jobs with helper threads at the same time; the callers of further jobs work alone
constexpr size_t kNumJobSlots = 64;
constexpr size_t kCacheLinePairBytes = 128;  // two cache lines, because processors prefetch them in pairs
constexpr int kMaxParts = kCacheLinePairBytes / sizeof(int64_t);

thread_local bool in_parallel_region = false;

/// One parallel_for in progress.
class alignas(kCacheLinePairBytes) JobSlot {
 public:
  bool claim() {
    return !claimed_.load(std::memory_order_relaxed) && !claimed_.exchange(true, std::memory_order_acquire);
  }
  void open(int64_t range, int64_t grain, int64_t chunks, ChunkFunction* f, uint32_t helpers) {
    range_ = range, grain_ = grain, chunks_ = chunks, f_ = f;
    failed_chunk_.store(chunks, std::memory_order_relaxed);
    parts_ = std::min(static_cast<int>(helpers) + 1, kMaxParts);
    for (int part = 0; part < parts_; ++part) next_[part].store(first_chunk_of(part), std::memory_order_relaxed);
    seats_.store(helpers * kFreeSeat, std::memory_order_release);
  }
  /// Number of helper threads that may still join this job; 0 once the job is closed.
  int num_free_seats() const { return static_cast<int>(seats_.load(std::memory_order_relaxed) / kFreeSeat); }
  bool try_take_seat() {
    uint32_t seats = seats_.load(std::memory_order_relaxed);
    while (seats >= kFreeSeat)
      if (seats_.compare_exchange_weak(seats, seats - kFreeSeat + kTakenSeat, std::memory_order_acquire)) return true;
    return false;
  }
  void release_seat() {
    if (seats_.fetch_sub(kTakenSeat, std::memory_order_acq_rel) == kTakenSeat) seats_.notify_one();
  }
  /// Returns the part of the range from which thread i takes its first chunks.
  int initial_part(size_t i) const { return static_cast<int>(i % static_cast<size_t>(parts_)); }
  /// Runs one chunk of part `part` of the range, or of the next part that has chunks left, and sets `part` to it.
  /// Returns false if no chunk is left.
  bool run_chunk(int& part) {
    for (int tried = 0; tried < parts_; ++tried, part = part + 1 < parts_ ? part + 1 : 0) {
      const int64_t last = first_chunk_of(part + 1);
      if (next_[part].load(std::memory_order_relaxed) >= last) continue;
      const int64_t chunk = next_[part].fetch_add(1, std::memory_order_relaxed);
      if (chunk >= last) continue;
      if (chunk < failed_chunk_.load(std::memory_order_relaxed)) return call_function(chunk), true;
      next_[part].store(last, std::memory_order_relaxed);
    }
    return false;
  }
  /// Called by the job's caller when no chunk is left: waits for the helpers, frees the slot, and returns the exception
  /// that a chunk threw, or null.
  std::exception_ptr close() {
    uint32_t seats = seats_.fetch_and(kFreeSeat - 1, std::memory_order_acquire) & (kFreeSeat - 1);
    for (detail::Spinner spinner; seats != 0; seats = seats_.load(std::memory_order_acquire))
      if (!spinner.keep_spinning()) seats_.wait(seats, std::memory_order_acquire);
    std::exception_ptr error = std::exchange(error_, nullptr);
    claimed_.store(false, std::memory_order_release);
    return error;
  }

 private:
  // seats_ = number of taken seats * kTakenSeat + number of free seats * kFreeSeat
  static constexpr uint32_t kTakenSeat = 1, kFreeSeat = 1 << 16;

  int64_t first_chunk_of(int part) const { return chunks_ / parts_ * part + std::min<int64_t>(chunks_ % parts_, part); }
  void call_function(int64_t chunk) {
    const int64_t begin = chunk * grain_, end = range_ - begin > grain_ ? begin + grain_ : range_;
    try {
      (*f_)(begin, end);
    } catch (...) {
      // Only chunks after a failed one are skipped, so the lowest chunk that throws always runs.
      const std::lock_guard lock(error_mutex_);
      if (chunk < failed_chunk_) failed_chunk_ = chunk, error_ = std::current_exception();
    }
  }

  std::atomic<uint32_t> seats_{0};
  std::atomic<bool> claimed_{false};
  int64_t range_, grain_, chunks_;
  ChunkFunction* f_;
  std::mutex error_mutex_;
  std::atomic<int64_t> failed_chunk_;
  std::exception_ptr error_;
  int parts_;
  // for each part of the range: index of its first chunk that no thread has taken
  alignas(kCacheLinePairBytes) std::atomic<int64_t> next_[kMaxParts];
};

class ThreadPool {
 public:
  static ThreadPool& instance() {
    static ThreadPool* const pool = [] {
      // Never destroyed: loops may run, without helpers, while static objects are destroyed.
      auto* const made = new ThreadPool;
      std::atexit([] { instance().shut_down(); });
      return made;
    }();
    return *pool;
  }

  int num_threads() const { return num_threads_.load(std::memory_order_relaxed); }
  void set_num_threads(int n) {
    const std::lock_guard lock(mutex_);
    stop_workers();
    num_threads_ = n;
  }

  void run_job(int64_t range, int64_t grain, int64_t chunks, ChunkFunction f, int threads) {
    if (!is_running_.load(std::memory_order_acquire)) start_workers();
    JobSlot* const slot = claim_slot();
    if (!slot) return run_serially(range, grain, f);
    const int helpers = static_cast<int>(std::min<int64_t>(threads, chunks)) - 1;
    slot->open(range, grain, chunks, &f, static_cast<uint32_t>(helpers));
    const int called = wake_workers(helpers - num_awake_workers());
    in_parallel_region = true;
    int part = 0;
    // Workers that were awake may be busy with other jobs. If the job still lacks helpers, wakes more workers.
    if (slot->run_chunk(part)) {
      if (const int missing = slot->num_free_seats() - called; missing > 0) wake_workers(missing);
    }
    while (slot->run_chunk(part)) continue;
    in_parallel_region = false;
    if (const std::exception_ptr error = slot->close()) std::rethrow_exception(error);
  }

  static void run_serially(int64_t range, int64_t grain, ChunkFunction f) {
    int64_t begin = 0;
    for (; range - begin > grain; begin += grain) f(begin, begin + grain);
    f(begin, range);
  }

 private:
  ThreadPool() {
    const char* const text = std::getenv("TANDEM_NUM_THREADS");
    int n = 0;
    if (text && *text) {
      const char* const end = text + std::strlen(text);
      const auto parsed = std::from_chars(text, end, n);
      TANDEM_CHECK(parsed.ec == std::errc() && parsed.ptr == end && n >= 1 && n <= kMaxThreads,
                   "TANDEM_NUM_THREADS is '", text, "'; accepted: 1 to ", kMaxThreads);
    }
    num_threads_ = n > 0 ? n : std::min(num_usable_cores(), kMaxThreads);
  }

  void start_workers() {
    const std::lock_guard lock(mutex_);
    if (is_running_ || is_shut_down_) return;
    const int wanted = num_threads_ - 1;
    try {
      while (static_cast<int>(workers_.size()) < wanted)
        workers_.push_back(start_thread("the pool", [this, first = workers_.size()] { run_worker(first); }));
    } catch (const Error& error) {
      const size_t started = workers_.size();
      stop_workers();
      TANDEM_FAIL("thread pool: thread ", started + 1, " of ", wanted,
                  " did not start: ", error.what_without_backtrace(),
                  "; request fewer threads with set_num_threads or TANDEM_NUM_THREADS");
    }
    is_running_.store(true, std::memory_order_release);
  }
  /// Stops all workers, which leave jobs in progress after their current chunk. The caller holds mutex_.
  void stop_workers() {
    is_running_ = false;
    is_stopping_ = true;
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    is_stopping_ = false;
  }
  void shut_down() {
    const std::lock_guard lock(mutex_);
    is_shut_down_ = true;
    for (const std::thread& worker : workers_)
      // this worker called exit() inside a chunk, and cannot join itself
      if (worker.get_id() == std::this_thread::get_id()) return;
    stop_workers();
  }

  JobSlot* claim_slot() {
    for (size_t i = 0; i < kNumJobSlots; ++i) {
      if (!slots_[i].claim()) continue;
      size_t used = num_used_slots_.load(std::memory_order_relaxed);
      while (used <= i && !num_used_slots_.compare_exchange_weak(used, i + 1, std::memory_order_relaxed)) continue;
      return &slots_[i];
    }
    return nullptr;
  }
  int num_awake_workers() const { return num_threads() - 1 - num_sleeping_workers_.load(std::memory_order_relaxed); }
  /// Increments epoch_, which makes workers that are awake look for the job, and wakes up to `wanted` sleeping workers.
  /// Returns the number of workers that it woke.
  int wake_workers(int wanted) {
    epoch_.fetch_add(1);
    const int woken = std::min(wanted, num_sleeping_workers_.load());
    if (woken <= 0) return 0;
    if (woken < num_sleeping_workers_.load(std::memory_order_relaxed)) {
      for (int i = 0; i < woken; ++i) epoch_.notify_one();
    } else {
      epoch_.notify_all();
    }
    return woken;
  }
  /// Joins a job that lacks helpers, and returns the slot of the job; null if there is none. Each worker starts its
  /// search at a different slot, so that workers spread over the slots.
  JobSlot* find_open_slot(size_t first) {
    const size_t used = num_used_slots_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < used; ++i)
      if (JobSlot& slot = slots_[(first + i) % used]; slot.try_take_seat()) return &slot;
    return nullptr;
  }
  void run_worker(size_t first) {
    pthread_setname_np(pthread_self(), "tandem-pool");
    in_parallel_region = true;
    for (;;) {
      const uint32_t epoch = epoch_.load();
      if (is_stopping_.load()) return;
      if (JobSlot* const slot = find_open_slot(first)) {
        int part = slot->initial_part(first + 1);  // the caller is thread 0
        while (!is_stopping_.load(std::memory_order_relaxed) && slot->run_chunk(part)) continue;
        slot->release_seat();
        continue;
      }
      detail::Spinner spinner;
      bool same = true;
      while ((same = epoch_.load(std::memory_order_acquire) == epoch) && spinner.keep_spinning()) continue;
      if (!same) continue;
      num_sleeping_workers_.fetch_add(1);
      epoch_.wait(epoch);
      num_sleeping_workers_.fetch_sub(1);
    }
  }

  std::array<JobSlot, kNumJobSlots> slots_;
  std::atomic<size_t> num_used_slots_{0};  // number of slots that were used so far
  alignas(kCacheLinePairBytes) std::atomic<uint32_t> epoch_{0};
  alignas(kCacheLinePairBytes) std::atomic<int> num_sleeping_workers_{0};
  std::atomic<int> num_threads_{1};
  std::atomic<bool> is_running_{false}, is_stopping_{false};
  std::mutex mutex_;  // guards the members below; taken to start and stop workers, never to run jobs
  std::vector<std::thread> workers_;
  bool is_shut_down_ = false;
};

}  // namespace

int get_num_threads() { return ThreadPool::instance().num_threads(); }
void set_num_threads(int n) {
  TANDEM_CHECK(n >= 1 && n <= kMaxThreads, "set_num_threads: Expected positive number of threads up to ", kMaxThreads,
               ", got ", n);
  TANDEM_CHECK(!in_parallel_region, "set_num_threads: must not be called inside a parallel loop");
  ThreadPool::instance().set_num_threads(n);
}

int detail::get_thread_share() { return ThreadContext::current().thread_share; }
ThreadShareGuard::ThreadShareGuard(int share) : saved_share_(get_thread_share()) {
  TANDEM_CHECK(share >= 0, "ThreadShareGuard: share is ", share,
               "; accepted: a number of threads, 1 or more, or 0 for all threads");
  ThreadContext::current().thread_share = share;
}
ThreadShareGuard::~ThreadShareGuard() { ThreadContext::current().thread_share = saved_share_; }

void detail::parallel_chunks(int64_t range, int64_t grain, ChunkFunction f) {
  TANDEM_CHECK(grain >= 1, "parallel_for: grain is ", grain, "; accepted: 1 or more");
  int threads = 1;
  if (!in_parallel_region) {
    const int share = get_thread_share();
    threads = get_num_threads();
    if (share > 0) threads = std::min(threads, share);
  }
  if (threads == 1) return ThreadPool::run_serially(range, grain, f);
  ThreadPool::instance().run_job(range, grain, (range - 1) / grain + 1, f, threads);
}

}  // namespace tandem
