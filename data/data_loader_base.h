// DataLoaderBase: the common base of all loaders, with the workers and the iteration over an epoch.
#pragma once
#include <type_traits>

#include "tandem/data/batch_part.h"
#include "tandem/data/data_loader_options.h"
#include "tandem/data/example_random_streams.h"
#include "tandem/data/iterator.h"
#include "tandem/data/prefetcher.h"
#include "tandem/data/staging.h"
#include "tandem/data/worker_exception.h"

namespace tandem::data {

namespace detail {
std::string describe_request(ArrayRef<size_t> indices);
inline std::string describe_request(const std::vector<size_t>& indices) {
  return describe_request(ArrayRef<size_t>(indices));
}
inline std::string describe_request(const BatchPart& part) { return describe_request(part.indices); }
template <class Request> std::string describe_request(const Request&) { return ""; }
/// Returns the number of examples in a request; 1 if the request has no size().
template <class Request> size_t example_count(const Request& request) {
  if constexpr (requires { size_t{request.size()}; })
    return request.size();
  else if constexpr (std::is_convertible_v<const Request&, size_t>)
    return static_cast<size_t>(request);
  else
    return 1;
}
}  // namespace detail

/// Base class of loaders. Iterate over a loader once per epoch: `for (auto& batch : *loader)`. begin() starts a new
/// epoch, even if the previous epoch has not reached its end; iterators of earlier epochs then throw when they advance.
/// A loader may be destroyed at any time; its destructor waits until the workers have finished their current batches.
template <class Dataset, class Batch, class BatchRequest> class DataLoaderBase {
 public:
  using BatchType = Batch;
  using BatchRequestType = BatchRequest;

  /// @param main_thread_dataset   dataset that makes the batches if there are no workers, or if all workers share one
  ///     dataset
  /// @throws Error for invalid options, and if pin_memory or device is set but TensorTree does not know the type of the
  /// batch
  explicit DataLoaderBase(const DataLoaderOptions& options, std::unique_ptr<Dataset> main_thread_dataset = nullptr)
      : options_(options),
        main_thread_dataset_(std::move(main_thread_dataset)),
        staging_(options.pin_memory(), options.device()) {
    TANDEM_CHECK(TensorTree<Batch>::kIsKnownType || staging_.is_noop(),
                 "DataLoader: pin_memory and device cannot find the tensors in this type of batch; give the type a ",
                 "tensor_parts() that lists them, or specialize TensorTree for it (core/tensor_tree.h)");
  }
  virtual ~DataLoaderBase() = default;
  DataLoaderBase(const DataLoaderBase&) = delete;
  DataLoaderBase& operator=(const DataLoaderBase&) = delete;

  /// Begins an epoch. @throws Error after join() of a loader with workers
  Iterator<Batch> begin() {
    check_not_joined();
    ++*num_begun_epochs_;
    if (workers_) workers_->clear();
    if (!std::exchange(resume_epoch_, false)) {
      reset();
      num_requested_examples_ = 0;
      random_streams_.begin_epoch(sampler_epoch());
    }
    is_in_epoch_ = true;
    num_returned_batches_ = 0;
    start_epoch();
    exhausted_ = false;
    if (workers_)
      for (size_t i = 0; i < options_.max_jobs && !exhausted_; ++i) submit();
    return Iterator<Batch>([this, alive = std::weak_ptr<size_t>(num_begun_epochs_), epoch = *num_begun_epochs_] {
      const std::shared_ptr<size_t> current = alive.lock();
      TANDEM_CHECK(current, "DataLoader: the loader was destroyed, so its iterator cannot advance; keep the ",
                   "loader as long as its iterators");
      TANDEM_CHECK(epoch == *current, "DataLoader: begin() was called again, so an iterator of the ",
                   "earlier epoch cannot advance; use the one that the last begin() returned");
      return next();
    });
  }
  /// Returns the position after the last batch.
  Iterator<Batch> end() { return Iterator<Batch>(); }
  /// Ends the workers, and drops the batches that they have made in advance. The destructor calls join(), too.
  void join() {
    workers_.reset();
    joined_ = true;
  }
  const FullDataLoaderOptions& options() const noexcept { return options_; }

 protected:
  /// A batch that a worker has made; nullopt if a stateful dataset's epoch is over.
  using Staged = std::optional<detail::StagedBatch<Batch>>;
  /// A request and the random streams of its examples; see Note [Random numbers of examples].
  struct Job {
    BatchRequest request;
    detail::BatchRandomStreams random_streams;
  };
  using Workers = detail::Prefetcher<Job, Staged>;

  /// Returns the next request, or nullopt at the end of the epoch.
  virtual std::optional<BatchRequest> get_batch_request() = 0;
  /// Begins an epoch. Called while no request is queued; workers may still be making batches of the previous epoch.
  virtual void reset() = 0;
  /// Called before the first request of an epoch, also if load() makes the epoch continue in its middle.
  virtual void start_epoch() {}
  /// Returns the positions, within the epoch, of the examples that the next request asks for.
  virtual detail::ExamplePositions next_positions() const { return {num_requested_examples_}; }
  /// Returns the epoch that was passed to the sampler; 0 if the sampler takes no epoch.
  virtual size_t sampler_epoch() const { return 0; }

  /// Makes a batch, and starts moving it to the memory that the options pin_memory and device ask for.
  static Staged make_batch(Dataset& dataset, const detail::Staging& staging, Job& job) {
    const detail::BatchRandomGuard random_streams(job.random_streams);
    BatchRequest& request = job.request;
    const auto get = [&] {
      if constexpr (std::is_convertible_v<BatchRequest&, typename Dataset::BatchRequestType>)
        return dataset.get_batch(request);  // the request is not moved, because error messages may need it
      else
        return dataset.get_batch(std::move(request));
    };
    if constexpr (Dataset::is_stateful) {
      auto batch = get();
      if (!batch) return {};
      return staging.start_transfer(std::move(*batch));
    } else {
      return staging.start_transfer(get());
    }
  }
  void start_workers(std::vector<typename Workers::Work> work) {
    workers_ = std::make_unique<Workers>(std::move(work), options_.enforce_ordering);
  }

  const FullDataLoaderOptions options_;
  std::unique_ptr<Dataset> main_thread_dataset_;
  detail::Staging staging_;
  std::unique_ptr<Workers> workers_;   // declared after the members that the workers use, so that the workers end first
  bool is_in_epoch_ = false;           // true from begin() until the end of the epoch has been reached
  bool resume_epoch_ = false;          // true if the next begin() continues the epoch that load() has read
  size_t num_returned_batches_ = 0;    // number of batches returned since begin()
  size_t num_requested_examples_ = 0;  // number of examples requested in this epoch
  detail::EpochRandomStreams random_streams_;

 private:
  void check_not_joined() const {
    TANDEM_CHECK(!joined_ || options_.workers == 0, "DataLoader: join() has ended its workers; make another loader");
  }
  std::optional<Job> next_job() {
    if (exhausted_) return {};
    const detail::ExamplePositions positions = next_positions();
    std::optional<BatchRequest> request = get_batch_request();
    exhausted_ = !request;
    if (!request) return {};
    const size_t count = detail::example_count(*request);
    num_requested_examples_ += count;
    return Job{std::move(*request), random_streams_.make_batch_streams(positions, count)};
  }
  void submit() {
    if (auto job = next_job()) workers_->submit(std::move(*job));
  }
  std::optional<Batch> next() {
    std::optional<Batch> batch = next_batch();
    is_in_epoch_ = batch.has_value();
    num_returned_batches_ += is_in_epoch_ ? 1 : 0;
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
      return staging_.finish_transfer(std::move(*staged));
    }
    while (workers_->num_in_flight() > 0) {
      auto result = workers_->pop_result(options_.timeout);
      TANDEM_CHECK(result, "Timeout in DataLoader queue while waiting for next batch (timeout was ",
                   options_.timeout.value_or(std::chrono::milliseconds()).count(),
                   " ms); if the dataset is only slow, raise the option timeout");
      // nullopt: the epoch is over, but batches of earlier requests may still arrive
      if (!result->error && !*result->batch) {
        exhausted_ = true;
        continue;
      }
      submit();
      if (result->error) throw WorkerException(result->error, detail::describe_request(result->request.request));
      return staging_.finish_transfer(std::move(**result->batch));
    }
    return {};
  }

  std::shared_ptr<size_t> num_begun_epochs_ = std::make_shared<size_t>(0);  // number of calls of begin()
  bool exhausted_ = false, joined_ = false;
};

}  // namespace tandem::data
