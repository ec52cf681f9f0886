// ChunkDataset: examples that are read many at a time, as from large files, by threads of their own.
#pragma once
#include <atomic>
#include <exception>
#include <mutex>

#include "tandem/core/option.h"
#include "tandem/data/chunk_buffer.h"
#include "tandem/data/samplers/samplers.h"
#include "tandem/data/stateful_dataset.h"

namespace tandem::data::datasets {

/// Reads chunks: files, or parts of one. Several threads call read_chunk at once if there are several preloaders.
template <class Example, class Chunk = std::vector<Example>> class ChunkDataReader {
 public:
  using ExampleType = Example;
  using ChunkType = Chunk;
  using BatchType = Chunk;
  virtual ~ChunkDataReader() = default;
  /// All examples of a chunk.
  virtual ChunkType read_chunk(size_t chunk_index) = 0;
  /// How many chunks there are.
  virtual size_t chunk_count() = 0;
  /// Begins an epoch.
  virtual void reset() = 0;
};

/// How a ChunkDataset works.
class ChunkDatasetOptions {
 public:
  ChunkDatasetOptions() = delete;
  /// @throws Error when a number is 0, or cache_size is less than batch_size
  ChunkDatasetOptions(size_t preloader_count, size_t batch_size, size_t cache_size = 2048,
                      size_t cross_chunk_shuffle_count = 1);
  /// Threads that read chunks.
  TANDEM_ARG(size_t, preloader_count);
  /// The size of all batches but the last.
  TANDEM_ARG(size_t, batch_size);
  /// How many examples are kept in advance: with as many, no more chunks are added.
  TANDEM_ARG(size_t, cache_size) = 2048;
  /// How many chunks are read together, and their examples shuffled together.
  TANDEM_ARG(size_t, cross_chunk_shuffle_count) = 1;
};

/// A stateful dataset of chunks: the chunk sampler says in which order they are read, the example sampler in which
/// order the examples of a chunk come. reset() begins an epoch, and loaders do it. It cannot be copied: a loader takes
/// it by make_shared_dataset<ChunkDataset<...>>(...). The order is that of the samplers where there is one preloader.
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

  /// @param preprocessing_policy   what is done to the examples that were read together, before they are shuffled
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

  /// The next batch; nothing at the end of the epoch.
  /// @throws Error before the first reset(), and for another batch size than the options'; WorkerException when a chunk
  ///         could not be read: the batches of the others still come
  BatchType get_batch(size_t batch_size) override {
    TANDEM_CHECK(buffer_, "ChunkDataset: reset() must be called before get_batch()");
    TANDEM_CHECK(batch_size == options_.batch_size(), "ChunkDataset: a batch of ", batch_size,
                 " was asked for; its options say ", options_.batch_size());
    return buffer_->get();
  }
  BatchType get_batch() { return get_batch(options_.batch_size()); }

  /// Begins an epoch, or goes on where load() says. Waits for the chunks that are being read.
  void reset() override {
    stop();
    if (!std::exchange(loaded_, false)) {
      chunk_reader_.reset();
      chunk_sampler_.reset(chunk_reader_.chunk_count());
      chunks_ = 0;
      streams_.begin_epoch(data::detail::set_epoch_of(chunk_sampler_));
    }
    buffer_ = std::make_unique<Buffer>(options_.batch_size(), options_.cache_size(), options_.preloader_count(),
                                       example_sampler_);
    stopping_ = false;
    try {
      for (size_t i = 0; i < options_.preloader_count(); ++i)
        preloaders_.start("a chunk dataset", [this] { preload(); });
    } catch (...) {  // no more threads to be had: end those there are
      stop();
      throw;
    }
  }
  /// Not known before the chunks were read.
  std::optional<size_t> size() const override { return {}; }
  /// The chunk sampler, to set its epoch. Not to be used while an epoch goes on.
  ChunkSampler& chunk_sampler() { return chunk_sampler_; }

  /// Writes where the chunk sampler is: chunks that were read, or are being read, do not come again after load().
  void save(serialize::OutputArchive& archive) const override {
    const std::lock_guard lock(chunk_mutex_);
    chunk_sampler_.save(archive);
    streams_.save(archive, chunks_);
  }
  /// The next reset() goes on from there.
  void load(serialize::InputArchive& archive) override {
    const std::lock_guard lock(chunk_mutex_);
    chunk_sampler_.load(archive);
    streams_.load(archive, chunks_);
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
        data::detail::StreamsOfBatch streams;
        {
          const std::lock_guard lock(chunk_mutex_);
          streams = streams_.batch(data::detail::positions_of(chunk_sampler_, chunks_), 1);
          chunks = chunk_sampler_.next(options_.cross_chunk_shuffle_count());
          ++chunks_;
        }
        if (!chunks || chunks->empty()) break;
        const data::detail::BatchStreams guard(streams);  // random numbers to read and to shuffle them
        what = "chunk";
        for (const size_t i : *chunks) what.append(" ").append(std::to_string(i));
        UnwrappedBatchType examples = chunk_reader_.read_chunk(chunks->front());
        for (size_t i = 1; i < chunks->size(); ++i) {
          UnwrappedBatchType more = chunk_reader_.read_chunk((*chunks)[i]);
          for (auto& example : more) examples.emplace_back(std::move(example));
        }
        if (preprocessing_policy_) preprocessing_policy_(examples);
        if (examples.size() > 0) buffer_->add(std::move(examples));
      } catch (...) {
        error = std::current_exception();
      }
      if (!error) continue;
      // Behind the catch, which holds the exception too: whoever gets it is the one to free it.
      const bool is_chunk = what.starts_with("chunk");
      buffer_->add_error(std::move(error), std::move(what));
      if (!is_chunk) break;  // a sampler that fails may do so for ever
    }
    buffer_->writer_done();
  }
  /// Ends the preloaders, with the chunks that they are reading.
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
  mutable std::mutex chunk_mutex_;  // of chunk_sampler_ and the two after this
  size_t chunks_ = 0;               // requests of this epoch to chunk_sampler_
  data::detail::EpochStreams streams_;
  bool loaded_ = false;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<Buffer> buffer_;
  data::detail::WorkerThreads preloaders_;
};

}  // namespace tandem::data::datasets
