// ChunkDataset: a dataset whose own threads read the examples in chunks, for example from large files.
#pragma once
#include <atomic>
#include <exception>
#include <mutex>

#include "tandem/core/option.h"
#include "tandem/data/chunk_buffer.h"
#include "tandem/data/samplers/samplers.h"
#include "tandem/data/stateful_dataset.h"

namespace tandem::data::datasets {

/// Base class of readers of chunks. A chunk is, for example, a file or a part of a file. If
/// ChunkDatasetOptions::preloader_count is more than 1, several threads call read_chunk at the same time.
template <class Example, class Chunk = std::vector<Example>> class ChunkDataReader {
 public:
  using ExampleType = Example;
  using ChunkType = Chunk;
  using BatchType = Chunk;
  virtual ~ChunkDataReader() = default;
  /// Returns all examples of a chunk.
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  /// Returns the number of chunks.
  virtual size_t chunk_count() = 0;
  /// Begins an epoch.
  virtual void reset() = 0;
};

/// Options of a ChunkDataset.
class ChunkDatasetOptions {
 public:
  ChunkDatasetOptions() = delete;
  /// @throws Error if a number is 0, or cache_size is less than batch_size
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1);
  /// Number of threads that read chunks.
  TANDEM_ARG(size_t, preloader_count);
  /// Number of examples in each batch; the last batch of an epoch may be smaller.
  TANDEM_ARG(size_t, batch_size);
  /// Number of examples to buffer in advance. Preloaders wait while this many examples are buffered.
  TANDEM_ARG(size_t, cache_size) = 2048;
  /// Number of chunks that are read together, and whose examples are shuffled together.
  TANDEM_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

/// A stateful dataset of chunks. The chunk sampler determines the order of the chunks, and the example sampler the
/// order of the examples of a chunk. With several preloaders, chunks may arrive in a different order. Loaders call
/// reset() to begin an epoch. A ChunkDataset cannot be copied, so it is passed to a loader as
/// make_shared_dataset<ChunkDataset<...>>(...).
template <class ChunkReader, class ChunkSampler = samplers::RandomSampler,
          class ExampleSampler = samplers::RandomSampler>
class ChunkDataset final : public StatefulDataset<ChunkDataset<ChunkReader, ChunkSampler, ExampleSampler>,
                                                  typename ChunkReader::BatchType, size_t> {
 public:
  using UnwrappedBatchType = typename ChunkReader::BatchType;
  using BatchType = std::optional<UnwrappedBatchType>;
  using BatchRequestType = size_t;
  using ChunkSamplerType = ChunkSampler;
  using ExampleSamplerType = ExampleSampler;

  /// @param preprocessing_policy   called with the examples of the chunks that are read together, before they are
  ///     shuffled
  ChunkDataset(ChunkReader chunk_reader, ChunkSampler chunk_sampler, ExampleSampler example_sampler,
               const ChunkDatasetOptions& options, std::function<void(UnwrappedBatchType&)> preprocessing_policy = {})
      : chunk_reader_(std::move(chunk_reader)),
        chunk_sampler_(std::move(chunk_sampler)),
        example_sampler_(std::move(example_sampler)),
        options_(options),
        preprocessing_policy_(std::move(preprocessing_policy)) {}
  ~ChunkDataset() override { stop(); }
  ChunkDataset(const ChunkDataset&) = delete;
  ChunkDataset& operator=(const ChunkDataset&) = delete;

  /// Returns the next batch, or nullopt at the end of the epoch.
  /// @throws Error before the first reset(), and if batch_size is not the batch size of the options; WorkerException if
  /// a chunk could not be read. After a WorkerException, the following calls return the batches of the other chunks.
  BatchType get_batch(size_t batch_size) override {
    TANDEM_CHECK(buffer_, "ChunkDataset: Dataset needs to call reset() before calling get_batch().");
    TANDEM_CHECK(batch_size == options_.batch_size(), "ChunkDataset: The requested batch size does not match with the ",
                 "initialized batch size.\n The requested batch size is ", batch_size,
                 ", while the dataset is created with batch size equal to ", options_.batch_size());
    return buffer_->get_batch();
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  /// Begins an epoch or, after load(), continues at the loaded position. First waits until the preloaders have finished
  /// reading their current chunks.
  void reset() override {
    stop();
    if (!std::exchange(loaded_, false)) {
      chunk_reader_.reset();
      chunk_sampler_.reset(chunk_reader_.chunk_count());
      num_chunk_requests_ = 0;
      random_streams_.begin_epoch(data::detail::get_sampler_epoch(chunk_sampler_));
    }
    buffer_ = std::make_unique<Buffer>(options_.batch_size(), options_.cache_size(), options_.preloader_count(),
                                       example_sampler_);
    stopping_ = false;
    try {
      for (size_t i = 0; i < options_.preloader_count(); ++i)
        preloaders_.start_worker("a chunk dataset", [this] { preload(); });
    } catch (...) {  // a thread could not be created: end the threads that have started
      stop();
      throw;
    }
  }
  /// Returns nullopt, because the size is not known before the chunks are read.
  std::optional<size_t> size() const override { return {}; }
  /// Returns the chunk sampler, so that its epoch can be set. Do not use it during an epoch.
  ChunkSampler& chunk_sampler() { return chunk_sampler_; }

  /// Writes the position of the chunk sampler. After load(), chunks that had been read, or were being read, are not
  /// read again.
  void save(serialize::OutputArchive& archive) const override {
    const std::lock_guard lock(chunk_mutex_);
    chunk_sampler_.save(archive);
    random_streams_.save(archive, num_chunk_requests_);
  }
  /// Reads a position that save() wrote. The next reset() continues there.
  void load(serialize::InputArchive& archive) override {
    const std::lock_guard lock(chunk_mutex_);
    chunk_sampler_.load(archive);
    random_streams_.load(archive, num_chunk_requests_);
    loaded_ = true;
  }

 private:
  using Buffer = data::detail::ChunkBuffer<UnwrappedBatchType, ExampleSampler>;

  void preload() {
    while (!stopping_) {
      std::string what = "the next chunk's number";
      std::exception_ptr error;
      try {
        std::optional<std::vector<size_t>> chunks;
        data::detail::BatchRandomStreams random_streams;
        {
          const std::lock_guard lock(chunk_mutex_);
          random_streams = random_streams_.make_batch_streams(
              data::detail::get_sampler_positions(chunk_sampler_, num_chunk_requests_), 1);
          chunks = chunk_sampler_.next(options_.cross_chunk_shuffle_count());
          ++num_chunk_requests_;
        }
        if (!chunks || chunks->empty()) break;
        // draws the random numbers for reading and shuffling these chunks from their own random stream
        const data::detail::BatchRandomGuard guard(random_streams);
        what = "chunk";
        for (const size_t i : *chunks) what.append(" ").append(std::to_string(i));
        UnwrappedBatchType examples = chunk_reader_.read_chunk(chunks->front());
        for (size_t i = 1; i < chunks->size(); ++i) {
          UnwrappedBatchType more = chunk_reader_.read_chunk((*chunks)[i]);
          for (auto& example : more) examples.emplace_back(std::move(example));
        }
        if (preprocessing_policy_) preprocessing_policy_(examples);
        if (examples.size() > 0) buffer_->add_chunk_data(std::move(examples));
      } catch (...) {
        error = std::current_exception();
      }
      if (!error) continue;
      // This is outside of the catch block, because the catch block holds a reference to the exception. The thread that
      // receives the exception must be the last to release it.
      const bool is_chunk = what.starts_with("chunk");
      buffer_->add_error(std::move(error), std::move(what));
      if (!is_chunk) break;  // the sampler threw the exception, and might throw at every call
    }
    buffer_->mark_writer_done();
  }
  /// Ends the preloader threads once they have finished reading their current chunks.
  void stop() {
    stopping_ = true;
    if (buffer_) buffer_->stop();
    preloaders_.join();
  }

  ChunkReader chunk_reader_;
  ChunkSampler chunk_sampler_;
  ExampleSampler example_sampler_;
  const ChunkDatasetOptions options_;
  const std::function<void(UnwrappedBatchType&)> preprocessing_policy_;
  mutable std::mutex chunk_mutex_;  // guards chunk_sampler_, num_chunk_requests_ and random_streams_
  size_t num_chunk_requests_ = 0;   // number of requests to chunk_sampler_ in this epoch
  data::detail::EpochRandomStreams random_streams_;
  bool loaded_ = false;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Buffer> buffer_;
  data::detail::WorkerThreads preloaders_;
};

}  // namespace tandem::data::datasets
