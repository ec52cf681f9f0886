// ChunkBuffer: between the threads that read chunks and the consumers that want batches of them.
#pragma once
#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/data/worker_exception.h"
#include "tandem/data/worker_threads.h"

namespace tandem::data::detail {

/// The examples of chunks, shuffled within each chunk and cut into batches. Batch: a std::vector, or what has its
/// emplace_back, size and operator[].
template <class Batch, class ExampleSampler> class ChunkBuffer {
 public:
  /// @param capacity   how many examples there may be before writers wait; at least batch_size
  /// @param writers    how many threads add chunks, and call writer_done() at their end
  ChunkBuffer(size_t batch_size, size_t capacity, size_t writers, ExampleSampler& sampler)
      : batch_size_(batch_size), capacity_(capacity), writers_(writers), sampler_(sampler) {}

  /// Waits for a whole batch, or for the end of all writers; then come what is left, and nothing.
  /// @throws WorkerException for a chunk that could not be read
  std::optional<Batch> get() {
    std::unique_lock lock(mutex_);
    can_read_.wait(lock, [&] {
      return stopped_ || writers_ == 0 || !errors_.empty() ||
             (!batches_.empty() && batches_.begin()->second.size() >= batch_size_);
    });
    if (!errors_.empty()) {
      const auto [error, chunk] = std::move(errors_.front());
      errors_.erase(errors_.begin());
      throw WorkerException(error, chunk);
    }
    if (stopped_ || batches_.empty()) return {};
    Batch batch = std::move(batches_.begin()->second);
    batches_.erase(batches_.begin());
    examples_ -= batch.size();
    can_write_.notify_all();
    return batch;
  }

  /// Waits until there is room. The last batch, if it is not whole, is filled first.
  /// @throws Error when the sampler's indices are not as many as the examples, or one is too large
  void add(Batch chunk) {
    std::unique_lock lock(mutex_);
    can_write_.wait(lock, [&] { return stopped_ || examples_ < capacity_; });
    if (stopped_) return;
    const size_t size = chunk.size();
    sampler_.reset(size);
    const auto order = sampler_.next(size);
    TANDEM_CHECK(order && order->size() == size, "ChunkDataset: the example sampler gave ", order ? order->size() : 0,
                 " indices for a chunk of ", size, " examples; it must give as many");
    for (const size_t i : *order)
      TANDEM_CHECK(i < size, "ChunkDataset: the example sampler gave index ", i, " for a chunk of ", size, " examples");
    for (const size_t i : *order) {
      if (batches_.empty() || batches_.rbegin()->second.size() >= batch_size_) batches_[next_batch_++];
      batches_.rbegin()->second.emplace_back(std::move(chunk[i]));
      ++examples_;
    }
    can_read_.notify_all();
  }
  /// @param chunk   what was to be read, for the error's text
  void add_error(std::exception_ptr error, std::string chunk) {
    const std::lock_guard lock(mutex_);
    errors_.emplace_back(std::move(error), std::move(chunk));
    can_read_.notify_all();
  }
  void writer_done() {
    const std::lock_guard lock(mutex_);
    --writers_;
    can_read_.notify_all();
  }
  /// Nobody waits any more, and nothing more comes.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    can_read_.notify_all();
    can_write_.notify_all();
  }

 private:
  const size_t batch_size_, capacity_;
  size_t writers_, examples_ = 0;  // examples in all batches_
  bool stopped_ = false;
  ExampleSampler& sampler_;          // used under the mutex
  std::map<size_t, Batch> batches_;  // by number: all but the last are whole
  size_t next_batch_ = 0;
  std::vector<std::pair<std::exception_ptr, std::string>> errors_;
  std::mutex mutex_;
  Condition can_read_, can_write_;
};

}  // namespace tandem::data::detail
