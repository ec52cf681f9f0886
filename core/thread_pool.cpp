#include "tandem/core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "tandem/core/cpu_info.h"
#include "tandem/core/error.h"
#include "tandem/core/rank_context.h"

namespace tandem {
namespace {

/// One parallel_for in progress. Lives on its caller's stack; helpers touch it only between joining and leaving, and
/// the caller waits until all have left.
struct Job {
  ChunkFunction f;
  int64_t range, grain, chunks;
  int helper_limit;
  std::atomic<int64_t> next{0};
  std::atomic<int> helpers{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;  // written once, by whoever sets `failed` first

  void work() {
    for (int64_t c; (c = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        f(c * grain, std::min((c + 1) * grain, range));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
  }
};

thread_local bool inside_chunk = false;
std::atomic<void (*)()> start_hook{nullptr};

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

class Pool {
 public:
  static Pool& instance() {
    static Pool pool;
    return pool;
  }
  int size() const { return size_.load(std::memory_order_relaxed); }
  void resize(int n) {
    const std::lock_guard lock(resize_mutex_);
    stop_all();
    size_ = n;
    start(n - 1);
  }
  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
      epoch_.fetch_add(1, std::memory_order_release);
      if (sleepers_ > 0) wake_.notify_all();
    }
    inside_chunk = true;
    job.work();
    inside_chunk = false;
    {
      const std::lock_guard lock(mutex_);
      jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &job));
    }
    for (int spins = 0; job.helpers.load(std::memory_order_acquire) > 0; ++spins)
      if (spins < kSpins) pause();
      else std::this_thread::yield();
  }

 private:
  static constexpr int kSpins = 4000;  // about 40 us: longer than the gap between two ops of a small model

  Pool() {
    int n = usable_cores();
    if (const char* text = std::getenv("TANDEM_NUM_THREADS"); text && *text) {
      n = std::atoi(text);
      TANDEM_CHECK(n >= 1, "TANDEM_NUM_THREADS is '", text, "'; accepted: 1 or more");
    }
    size_ = n;
    start(n - 1);
  }
  ~Pool() { stop_all(); }

  void start(int workers) {
    stop_ = false;
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this] { serve(); });
  }
  void stop_all() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      epoch_.fetch_add(1, std::memory_order_release);
      wake_.notify_all();
    }
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }
  Job* join_one() {  // under mutex_
    for (Job* job : jobs_)
      if (job->next.load(std::memory_order_relaxed) < job->chunks &&
          job->helpers.load(std::memory_order_relaxed) < job->helper_limit) {
        job->helpers.fetch_add(1, std::memory_order_relaxed);
        return job;
      }
    return nullptr;
  }
  void serve() {
    if (auto* hook = start_hook.load()) hook();
    inside_chunk = true;
    for (;;) {
      Job* job = nullptr;
      uint64_t seen;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) return;
        seen = epoch_.load(std::memory_order_relaxed);
        job = join_one();
      }
      if (job) {
        job->work();
        job->helpers.fetch_sub(1, std::memory_order_release);
        continue;
      }
      for (int spins = 0; spins < kSpins && epoch_.load(std::memory_order_acquire) == seen; ++spins) pause();
      std::unique_lock lock(mutex_);
      if (epoch_.load(std::memory_order_relaxed) != seen) continue;
      ++sleepers_;
      wake_.wait(lock, [&] { return epoch_.load(std::memory_order_relaxed) != seen; });
      --sleepers_;
    }
  }

  std::mutex resize_mutex_, mutex_;  // mutex_ guards jobs_, stop_, sleepers_
  std::condition_variable wake_;
  std::vector<Job*> jobs_;
  std::vector<std::thread> threads_;
  std::atomic<uint64_t> epoch_{0};  // raised with every change that a worker should look at
  std::atomic<int> size_{1};
  int sleepers_ = 0;
  bool stop_ = false;
};

}  // namespace

void set_num_threads(int n) {
  TANDEM_CHECK(n >= 1, "set_num_threads: got ", n, "; accepted: 1 or more");
  Pool::instance().resize(n);
}
int get_num_threads() { return Pool::instance().size(); }
void set_worker_start_hook(void (*hook)()) { start_hook = hook; }

void parallel_for(int64_t range, int64_t grain, ChunkFunction f) {
  if (range <= 0) return;
  if (range <= grain) return f(0, range);
  const int64_t chunks = (range + grain - 1) / grain;
  int threads = 1;
  if (!inside_chunk) {
    const int share = RankContext::current().thread_share;
    threads = Pool::instance().size();
    if (share > 0) threads = std::min(threads, share);
  }
  if (threads == 1) {
    for (int64_t c = 0; c < chunks; ++c) f(c * grain, std::min((c + 1) * grain, range));
    return;
  }
  Job job{f, range, grain, chunks, threads - 1, {}, {}, {}, {}};
  Pool::instance().run(job);
  if (job.failed) std::rethrow_exception(job.error);
}

}  // namespace tandem
