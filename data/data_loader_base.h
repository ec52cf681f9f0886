// DataLoaderBase: the common base of all loaders, with the workers and the iteration over an epoch.
#pragma once
#include <type_traits>

#include "tandem/data/data_loader_options.h"
#include "tandem/data/example_streams.h"
#include "tandem/data/iterator.h"
#include "tandem/data/prefetcher.h"
#include "tandem/data/staging.h"
#include "tandem/data/worker_exception.h"

namespace tandem::data {

namespace detail {
std::string describe(ArrayRef<size_t> indices);
inline std::string describe(const std::vector<size_t>& indices) { return describe(ArrayRef<size_t>(indices)); }
template <class Request> std::string describe(const Request&) { return ""; }
/// Number of examples in a request; 1 if the request does not say.
template <class Request> size_t count_of(const Request& request) {
  if constexpr (requires { size_t{request.size()}; })
    return request.size();
  else if constexpr (std::is_convertible_v<const Request&, size_t>)
    return static_cast<size_t>(request);
  else
    return 1;
}
}  // namespace detail

/// Iterate over it once per epoch: `for (auto& batch : *loader)`. begin() starts a new epoch, even if the last epoch
/// has not reached its end; iterators of earlier epochs then throw when they advance. A loader may be destroyed at any
/// time. Its workers end after the batches that they are making.
template <class Dataset, class Batch, class BatchRequest> class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  /// @param main_thread_dataset   dataset for batches made without workers, or by all workers together
  /// @throws Error for invalid options, and if pin_memory or device is set but TensorTree does not know the type of the
  /// batch
  explicit DataLoaderBase(const DataLoaderOptions& options, std::unique_ptr<Dataset> main_thread_dataset = nullptr)
      : options_(options),
        main_thread_dataset_(std::move(main_thread_dataset)),
        staging_(options.pin_memory(), options.device()) {
    TANDEM_CHECK(
        TensorTree<Batch>::kKnown || staging_.does_nothing(),
        "DataLoader: pin_memory and device must know where a batch has its tensors; give this type of batch a ",
        "tensor_parts() that lists them, or specialise TensorTree for it (core/tensor_tree.h)");
  }
  virtual ~DataLoaderBase() = default;
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;

  /// Begins an epoch. @throws Error after join() of a loader with workers
  Iterator<Batch> begin() {
    check_not_joined();
    ++*epoch_;
    if (workers_) workers_->clear();
    if (!std::exchange(resumes_, false)) {
      reset();
      position_ = 0;
      streams_.begin_epoch(set_epoch());
    }
    in_epoch_ = true;
    handed_out_ = 0;
    start_epoch();
    exhausted_ = false;
    if (workers_)
      for (size_t i = 0; i < options_.max_jobs && !exhausted_; ++i) submit();
    return Iterator<Batch>([this, alive = std::weak_ptr<size_t>(epoch_), epoch = *epoch_] {
      const std::shared_ptr<size_t> current = alive.lock();
      TANDEM_CHECK(current, "DataLoader: the loader was destroyed, so its iterator cannot go on");
      TANDEM_CHECK(epoch == *current, "DataLoader: begin() was called again; an iterator of the epoch before it",
                   " cannot go on");
      return next();
    });
  }
  /// Returns the position after the last batch.
  Iterator<Batch> end() { return Iterator<Batch>(); }
  /// Ends the workers. Batches that were not fetched are lost. The destructor does so, too.
  void join() {
    workers_.reset();
    joined_ = true;
  }
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  using Staged = std::optional<detail::StagedBatch<Batch>>;  // nullopt: a stateful dataset's epoch is over
  /// A request and the random streams of its examples; see Note [Random numbers of examples].
  struct Job {
    BatchRequest request;
    detail::StreamsOfBatch streams;
  };
  using Workers = detail::Prefetcher<Job, Staged>;

  /// Returns the next request; nullopt at the end of the epoch.
  virtual std::optional<BatchRequest> get_batch_request() = 0;
  /// Begins an epoch. No request is waiting then, but workers may still be making batches of the last epoch.
  virtual void reset() = 0;
  /// Called before the first request of an epoch, or of the rest of an epoch that was loaded.
  virtual void start_epoch() {}
  /// Returns the positions of the examples that the next request asks for.
  virtual detail::Positions next_positions() const { return {position_}; }
  /// Returns the epoch of the sampler's set_epoch(); 0 if there is none.
  virtual size_t set_epoch() const { return 0; }

  /// Makes a batch, and starts moving it to the memory that the options name.
  static Staged make_batch(Dataset& dataset, const detail::Staging& staging, Job& job) {
    const detail::BatchStreams streams(job.streams);
    BatchRequest& request = job.request;
    const auto get = [&] {
      if constexpr (std::is_convertible_v<BatchRequest&, typename Dataset::BatchRequestType>)
        return dataset.get_batch(request);  // the request is kept for error messages
      else
        return dataset.get_batch(std::move(request));
    };
    if constexpr (Dataset::is_stateful) {
      auto batch = get();
      if (!batch) return {};
      return staging.send(std::move(*batch));
    } else {
      return staging.send(get());
    }
  }
  void start_workers(std::vector<typename Workers::Work> work) {
    workers_ = std::make_unique<Workers>(std::move(work), options_.enforce_ordering);
  }

  const FullDataLoaderOptions options_;
  std::unique_ptr<Dataset> main_thread_dataset_;
  detail::Staging staging_;
  std::unique_ptr<Workers> workers_;  // declared after what workers use, so that they end first
  bool in_epoch_ = false;             // an epoch has begun, and a loop has not reached its end
  bool resumes_ = false;              // the next begin() continues the epoch that was loaded
  size_t handed_out_ = 0;             // batches returned in this epoch, or in the loaded rest of it
  size_t position_ = 0;               // examples requested in this epoch
  detail::EpochStreams streams_;

 private:
  void check_not_joined() const {
    TANDEM_CHECK(!joined_ || options_.workers == 0, "DataLoader: join() has ended its workers; make another loader");
  }
  std::optional<Job> next_job() {
    if (exhausted_) return {};
    const detail::Positions positions = next_positions();
    std::optional<BatchRequest> request = get_batch_request();
    exhausted_ = !request;
    if (!request) return {};
    const size_t count = detail::count_of(*request);
    position_ += count;
    return Job{std::move(*request), streams_.batch(positions, count)};
  }
  void submit() {
    if (auto job = next_job()) workers_->submit(std::move(*job));
  }
  std::optional<Batch> next() {
    std::optional<Batch> batch = next_batch();
    in_epoch_ = batch.has_value();
    handed_out_ += in_epoch_ ? 1 : 0;
    return batch;
  }
  std::optional<Batch> next_batch() {
    check_not_joined();
    if (!workers_) {
      auto job = next_job();
      if (!job) return {};
      Staged staged = make_batch(*main_thread_dataset_, staging_, *job);
      exhausted_ = !staged;
      if (!staged) return {};
      return staging_.receive(std::move(*staged));
    }
    while (workers_->in_flight() > 0) {
      auto result = workers_->pop(options_.timeout);
      TANDEM_CHECK(result, "DataLoader: no batch came from the workers within ",
                   options_.timeout.value_or(std::chrono::milliseconds()).count(), " ms");
      if (!result->error && !*result->batch) {  // batches of earlier requests may still come
        exhausted_ = true;
        continue;
      }
      submit();
      if (result->error) throw WorkerException(result->error, detail::describe(result->request.request));
      return staging_.receive(std::move(**result->batch));
    }
    return {};
  }

  std::shared_ptr<size_t> epoch_ = std::make_shared<size_t>(0);  // number of calls of begin()
  bool exhausted_ = false, joined_ = false;
};

}  // namespace tandem::data
