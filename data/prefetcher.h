// Prefetcher: worker threads that make batches from queued requests in advance.
#pragma once
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/core/durations.h"
#include "tandem/data/worker_threads.h"

namespace tandem::data::detail {

/// Makes batches from requests on worker threads. One thread, the consumer, calls all methods.
template <class Request, class Batch> class Prefetcher {
 public:
  using Work = std::function<Batch(Request&)>;
  /// Outcome of a request.
  struct Result {
    Request request;
    std::optional<Batch> batch;
    std::exception_ptr error;  // set if there is no batch
  };

  /// Starts one thread for each function in `work`, in the ThreadContext of the calling thread.
  Prefetcher(std::vector<Work> work, bool ordered) : is_ordered_(ordered) {
    try {
      for (Work& w : work) threads_.start_worker("a data loader", [this, w = std::move(w)] { worker_loop(w); });
    } catch (...) {  // a thread could not be created: end the threads that have started
      stop();
      throw;
    }
  }
  ~Prefetcher() { stop(); }
  Prefetcher(const Prefetcher&) = delete;

  void submit(Request request) {
    {
      const std::lock_guard lock(mutex_);
      pending_requests_.emplace(next_request_index_++, std::move(request));
    }
    job_available_.notify_one();
  }
  /// Returns the number of submitted requests whose results pop_result() has not returned yet.
  size_t num_in_flight() const { return next_request_index_ - num_popped_; }

  /// Waits for the next result and returns it: in the order of the requests if `ordered`, else in the order in which
  /// results are ready. num_in_flight() must not be 0. Returns nullopt if no result is ready within `timeout`.
  std::optional<Result> pop_result(std::optional<std::chrono::milliseconds> timeout) {
    std::unique_lock lock(mutex_);
    const auto ready = [&] {
      return !results_.empty() && (!is_ordered_ || results_.begin()->first == next_result_index_);
    };
    if (!timeout)
      result_available_.wait(lock, ready);
    else if (!result_available_.wait_for(lock, *timeout, ready))
      return {};
    auto first = results_.begin();
    Result result = std::move(first->second);
    results_.erase(first);
    ++next_result_index_;
    ++num_popped_;
    return result;
  }

  /// Discards all requests. Results of requests that workers are processing are dropped when they are ready.
  void clear() {
    std::map<size_t, Result> dropped;  // declared before the lock, so that the results are destroyed after its release
    const std::lock_guard lock(mutex_);
    pending_requests_.clear();
    dropped.swap(results_);
    first_valid_request_ = next_result_index_ = num_popped_ = next_request_index_;
  }

  /// Waits until no worker is making a batch. After clear(), each worker has at most one batch to finish.
  void wait_until_idle() {
    std::unique_lock lock(mutex_);
    result_available_.wait(lock, [&] { return num_busy_workers_ == 0; });
  }

 private:
  void worker_loop(const Work& work) {
    std::unique_lock lock(mutex_);
    while (true) {
      job_available_.wait(lock, [&] { return stopping_ || !pending_requests_.empty(); });
      if (stopping_) return;
      auto job = pending_requests_.extract(pending_requests_.begin());
      ++num_busy_workers_;
      lock.unlock();
      Result result{std::move(job.mapped()), {}, {}};
      try {
        result.batch.emplace(work(result.request));
      } catch (...) {
        result.error = std::current_exception();
      }
      lock.lock();
      --num_busy_workers_;
      if (job.key() >= first_valid_request_) results_.emplace(job.key(), std::move(result));
      result_available_.notify_one();  // notify_one suffices, because only one thread (the consumer) waits
    }
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    job_available_.notify_all();
    threads_.join();
  }

  const bool is_ordered_;
  std::mutex mutex_;
  ConditionVariable job_available_, result_available_;
  std::map<size_t, Request> pending_requests_;  // requests by their number
  std::map<size_t, Result> results_;            // finished results by the index of their request
  size_t next_request_index_ = 0, next_result_index_ = 0, num_popped_ = 0, first_valid_request_ = 0;
  size_t num_busy_workers_ = 0;  // number of workers that are making a batch
  bool stopping_ = false;
  WorkerThreads threads_;
};

}  // namespace tandem::data::detail
