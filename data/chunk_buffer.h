// ChunkBuffer: a bounded queue from the threads that read chunks of examples to the threads that take batches.
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

/// Holds the examples of chunks, shuffled within each chunk and grouped into batches. `Batch` is a std::vector, or a
/// type with emplace_back, size and operator[].
template <class Batch, class ExampleSampler> class ChunkBuffer {
 public:
  /// @param capacity   number of buffered examples at which writers start to wait; at least batch_size
  /// @param writers    number of threads that call add_chunk_data(); each calls mark_writer_done() when it ends
  ChunkBuffer(size_t batch_size, size_t capacity, size_t writers, ExampleSampler& sampler)
      : batch_size_(batch_size), capacity_(capacity), num_writers_(writers), sampler_(sampler) {}

  /// Waits for a full batch and returns it. After the last writer has ended, also returns an incomplete last batch.
  /// Returns nullopt when no examples are left.
  /// @throws WorkerException if a chunk could not be read
  std::optional<Batch> get_batch() {
    std::unique_lock lock(mutex_);
    can_read_.wait(lock, [&] {
      return stopped_ || num_writers_ == 0 || !errors_.empty() ||
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
    num_examples_ -= batch.size();
    can_write_.notify_all();
    return batch;
  }

  /// Waits while the buffer is full, then appends the shuffled examples of a chunk. Completes the last batch before it
  /// starts another.
  /// @throws Error if the sampler does not return one index for each example, or an index is too large
  void add_chunk_data(Batch chunk) {
    std::unique_lock lock(mutex_);
    can_write_.wait(lock, [&] { return stopped_ || num_examples_ < capacity_; });
    if (stopped_) return;
    const size_t size = chunk.size();
    sampler_.reset(size);
    const auto order = sampler_.next(size);
    TANDEM_CHECK(order && order->size() == size, "ChunkDataset: the example sampler gave ", order ? order->size() : 0,
                 " indices for a chunk of ", size, " examples; the numbers must be equal");
    for (const size_t i : *order)
      TANDEM_CHECK(i < size, "ChunkDataset: Index out of range: the example sampler gave index ", i, " for a chunk of ",
                   size, " examples; accepted: 0 to ", size - 1);
    for (const size_t i : *order) {
      if (batches_.empty() || batches_.rbegin()->second.size() >= batch_size_) batches_[next_batch_index_++];
      batches_.rbegin()->second.emplace_back(std::move(chunk[i]));
      ++num_examples_;
    }
    can_read_.notify_all();
  }
  /// @param chunk   description of the chunk, for the error message
  void add_error(std::exception_ptr error, std::string chunk) {
    const std::lock_guard lock(mutex_);
    errors_.emplace_back(std::move(error), std::move(chunk));
    can_read_.notify_all();
  }
  void mark_writer_done() {
    const std::lock_guard lock(mutex_);
    --num_writers_;
    can_read_.notify_all();
  }
  /// Wakes all waiting threads. From now on add_chunk_data() drops its chunk, and get_batch() returns no batch.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    can_read_.notify_all();
    can_write_.notify_all();
  }

 private:
  const size_t batch_size_, capacity_;
  size_t num_writers_, num_examples_ = 0;  // num_examples_: number of examples in batches_
  bool stopped_ = false;
  ExampleSampler& sampler_;          // used only while mutex_ is held
  std::map<size_t, Batch> batches_;  // batches by batch number; all but the last are full
  size_t next_batch_index_ = 0;
  std::vector<std::pair<std::exception_ptr, std::string>> errors_;
  std::mutex mutex_;
  ConditionVariable can_read_, can_write_;
};

}  // namespace tandem::data::detail
