// DataLoader: batches of a dataset, in a sampler's order, made ahead by worker threads.
#pragma once
#include <chrono>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/option.h"
#include "tandem/data/prefetcher.h"
#include "tandem/data/samplers.h"
#include "tandem/data/staging.h"

namespace tandem::data {

/// How a DataLoader works. A number alone converts to one, as the batch size.
class DataLoaderOptions {
 public:
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  TANDEM_ARG(size_t, batch_size) = 1;
  /// Threads that make batches; 0: the caller does, when it asks for one.
  TANDEM_ARG(size_t, workers) = 0;
  /// How many batches are asked for in advance; twice the workers unless given.
  TANDEM_ARG(std::optional<size_t>, max_jobs) = {};
  /// How long to wait for a batch before it is an error; for ever unless given.
  TANDEM_ARG(std::optional<std::chrono::milliseconds>, timeout) = {};
  /// Whether batches come in the sampler's order, or as soon as they are there.
  TANDEM_ARG(bool, enforce_ordering) = true;
  /// Whether a last batch smaller than batch_size is left out.
  TANDEM_ARG(bool, drop_last) = false;
  /// Whether batches are put in page-locked memory, from which `to(device, /*non_blocking=*/true)` copies while the
  /// host goes on. Without a GPU it changes nothing, as in PyTorch.
  TANDEM_ARG(bool, pin_memory) = false;
  /// Where batches are put as soon as they are made. On a GPU by a stream of the loader's own, so that one is copied
  /// while another is computed; the consumer's current stream waits for it. All batches made in advance lie there.
  TANDEM_ARG(std::optional<Device>, device) = {};
};

/// An exception in a worker, as the consumer sees it: what() names the batch, then what happened.
class WorkerException : public Error {
 public:
  WorkerException(const std::string& what, std::exception_ptr original)
      : Error(what), original_exception(std::move(original)) {}
  std::exception_ptr original_exception;
};

namespace detail {
void check_options(const DataLoaderOptions& options);
std::string describe(ArrayRef<size_t> indices);
inline std::string describe(const std::vector<size_t>& indices) { return describe(ArrayRef<size_t>(indices)); }
template <class Request> std::string describe(const Request&) { return ""; }
[[noreturn]] void rethrow_from_worker(const std::exception_ptr& error, const std::string& request);
}  // namespace detail

/// Iterate it once per epoch: `for (auto& batch : *loader)`. begin() starts a new epoch, whether or not the last one
/// came to its end; an iterator of an earlier epoch can go no further then.
template <class Dataset, class Sampler> class StatelessDataLoader {
 public:
  using BatchType = typename Dataset::BatchType;
  using BatchRequestType = typename Sampler::BatchRequestType;

  StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : options_(std::move(options)),
        dataset_(std::move(dataset)),
        sampler_(std::move(sampler)),
        staging_(options_.pin_memory(), options_.device()) {
    detail::check_options(options_);
    TANDEM_CHECK(
        BatchTensors<BatchType>::kKnown || staging_.does_nothing(),
        "DataLoader: pin_memory and device must know where a batch has its tensors; specialise BatchTensors for ",
        "this type of batch (data/staging.h)");
    if (options_.workers() == 0) return;
    std::vector<typename Workers::Work> work;
    for (size_t i = 0; i < options_.workers(); ++i)
      work.push_back([staging = staging_, dataset = dataset_](BatchRequestType& request) mutable {
        return staging.send(dataset.get_batch(request));
      });
    workers_ = std::make_unique<Workers>(std::move(work), options_.enforce_ordering());
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = BatchType;
    using difference_type = std::ptrdiff_t;
    using pointer = BatchType*;
    using reference = BatchType&;
    Iterator() = default;
    explicit Iterator(StatelessDataLoader* loader) : loader_(loader), epoch_(loader->epoch_) { ++*this; }
    BatchType& operator*() const { return *checked(); }
    BatchType* operator->() const { return checked(); }
    Iterator& operator++() {
      TANDEM_CHECK(loader_, "DataLoader: its iterator is already at the end");
      TANDEM_CHECK(epoch_ == loader_->epoch_,
                   "DataLoader: begin() was called again; an iterator of the epoch before it", " cannot go on");
      auto batch = loader_->next();
      if (batch)
        batch_ = std::make_shared<BatchType>(std::move(*batch));
      else
        loader_ = nullptr, batch_ = nullptr;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.loader_ == b.loader_; }

   private:
    BatchType* checked() const {
      TANDEM_CHECK(batch_, "DataLoader: its iterator is at the end, where there is no batch");
      return batch_.get();
    }
    StatelessDataLoader* loader_ = nullptr;  // null at the end
    size_t epoch_ = 0;
    std::shared_ptr<BatchType> batch_;
  };

  Iterator begin() {
    if (workers_) workers_->clear();
    sampler_.reset();
    ++epoch_;
    exhausted_ = false;
    if (workers_) {
      const size_t jobs = options_.max_jobs().value_or(2 * options_.workers());
      for (size_t i = 0; i < jobs; ++i) submit();
    }
    return Iterator(this);
  }
  Iterator end() { return {}; }
  const DataLoaderOptions& options() const noexcept { return options_; }
  Sampler& sampler() noexcept { return sampler_; }

 private:
  using Workers = detail::Prefetcher<BatchRequestType, detail::StagedBatch<BatchType>>;

  std::optional<BatchRequestType> next_request() {
    std::optional<BatchRequestType> request;
    if (!exhausted_) request = sampler_.next(options_.batch_size());
    if (request && options_.drop_last()) {
      if constexpr (requires { request->size(); })
        if (request->size() < options_.batch_size()) request.reset();
    }
    exhausted_ = !request;
    return request;
  }
  void submit() {
    if (auto request = next_request()) workers_->submit(std::move(*request));
  }
  std::optional<BatchType> next() {
    if (!workers_) {
      auto request = next_request();
      if (!request) return {};
      return staging_.receive(staging_.send(dataset_.get_batch(*request)));
    }
    if (workers_->in_flight() == 0) return {};
    auto result = workers_->pop(options_.timeout());
    TANDEM_CHECK(result, "DataLoader: no batch came from the workers within ",
                 options_.timeout().value_or(std::chrono::milliseconds()).count(), " ms");
    submit();
    if (result->error) detail::rethrow_from_worker(result->error, detail::describe(result->request));
    return staging_.receive(std::move(*result->batch));
  }

  DataLoaderOptions options_;
  Dataset dataset_;
  Sampler sampler_;
  detail::Staging staging_;
  bool exhausted_ = false;
  size_t epoch_ = 0;  // how often begin() was called
  std::unique_ptr<Workers> workers_;
};
template <class Dataset, class Sampler> using DataLoader = StatelessDataLoader<Dataset, Sampler>;

namespace detail {
template <class S>
concept IsSampler = requires(S sampler) {
  sampler.next(size_t{1});
};
}  // namespace detail

/// @throws Error when batch_size or max_jobs is 0
template <class Dataset, detail::IsSampler Sampler>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                                        DataLoaderOptions options = {}) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler),
                                                                 std::move(options));
}
/// The sampler is made for the dataset's size, which must be known.
template <detail::IsSampler Sampler = samplers::RandomSampler, class Dataset>
requires std::constructible_from<Sampler, size_t> std::unique_ptr<StatelessDataLoader<Dataset, Sampler>>
make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  TANDEM_CHECK(size, "make_data_loader: the dataset does not know its size; give it a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), std::move(options));
}

}  // namespace tandem::data
