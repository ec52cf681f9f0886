// Data loaders: load the batches of a dataset in advance by worker threads, in the order of a sampler or of a stateful
// dataset.
#pragma once
#include <concepts>

#include "tandem/data/data_loader_base.h"
#include "tandem/data/samplers/samplers.h"

namespace tandem::data {

/// Loads the batches that a sampler requests. Each worker has a copy of the dataset.
template <class Dataset, class Sampler>
class StatelessDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType, typename Sampler::BatchRequestType>;
  using typename super::BatchRequestType;

  /// @throws Error for invalid options
  StatelessDataLoader(Dataset dataset, Sampler sampler, const DataLoaderOptions& options)
      : super(options), sampler_(std::move(sampler)) {
    if (this->options_.workers == 0) {
      this->main_thread_dataset_ = std::make_unique<Dataset>(std::move(dataset));
      return;
    }
    std::vector<typename super::Workers::Work> work;
    for (size_t i = 0; i < this->options_.workers; ++i)
      work.push_back([staging = this->staging_, dataset](typename super::Job& job) mutable {
        return super::make_batch(dataset, staging, job);
      });
    this->start_workers(std::move(work));
  }
  /// Returns the sampler, so that its epoch can be set.
  Sampler& sampler() noexcept { return sampler_; }
  /// Returns the number of batches in an epoch, like len(loader) in Python; nullopt if the sampler has no epoch_size().
  std::optional<size_t> size() const {
    if constexpr (requires { sampler_.epoch_size(); }) {
      const size_t examples = sampler_.epoch_size(), batch = this->options_.batch_size;
      return examples / batch + (examples % batch != 0 && !this->options_.drop_last ? 1 : 0);
    } else {
      return {};
    }
  }

  /// Writes the loader's position, which is after the last batch that it has returned. Batches that workers have made
  /// in advance do not count. Once a loop has reached the end of an epoch, the position is the start of the next epoch.
  /// The sampler must be copyable.
  /// @throws Error if there are workers and enforce_ordering is false, because the order of the batches is then not
  ///     defined
  void save(serialize::OutputArchive& archive) const {
    TANDEM_CHECK(
        this->options_.workers == 0 || this->options_.enforce_ordering,
        "DataLoader: the position in the epoch cannot be saved, because with enforce_ordering(false) the workers' ",
        "batches come in any order; accepted: enforce_ordering(true) or workers(0)");
    samplers::detail::write_number(archive, "in_epoch", this->is_in_epoch_ ? 1 : 0);
    if (this->options_.workers == 0 || !epoch_start_sampler_ || !this->is_in_epoch_) {
      sampler_.save(archive);
      return this->random_streams_.save(archive, this->num_requested_examples_);
    }
    static_assert(std::copy_constructible<Sampler>, "saving a DataLoader needs a sampler that can be copied");
    Sampler here = *epoch_start_sampler_;
    size_t position = epoch_start_position_;
    for (size_t i = 0; i < this->num_returned_batches_; ++i)
      if (const auto request = here.next(this->options_.batch_size)) position += detail::example_count(*request);
    here.save(archive);
    this->random_streams_.save(archive, position);
  }
  /// Reads a position that save() wrote. If the position is within an epoch, the next begin() continues that epoch
  /// after the batches that had been returned. @throws Error if the position does not fit this loader's sampler
  void load(serialize::InputArchive& archive) {
    const bool in_epoch = samplers::detail::read_number(archive, "in_epoch", 0, 1) == 1;
    sampler_.load(archive);
    this->num_requested_examples_ = 0;
    this->random_streams_.load(archive, this->num_requested_examples_);
    this->resume_epoch_ = in_epoch;
    this->is_in_epoch_ = in_epoch;
    epoch_start_sampler_.reset();
  }

 private:
  void reset() override { sampler_.reset({}); }
  detail::ExamplePositions next_positions() const override {
    return detail::get_sampler_positions(sampler_, this->num_requested_examples_);
  }
  size_t sampler_epoch() const override { return detail::get_sampler_epoch(sampler_); }
  void start_epoch() override {
    epoch_start_position_ = this->num_requested_examples_;
    // With workers, the sampler is ahead of the returned batches, so save() needs a copy of the sampler from the start
    // of the epoch.
    if constexpr (std::copy_constructible<Sampler>)
      if (this->options_.workers > 0) epoch_start_sampler_.emplace(sampler_);
  }
  std::optional<BatchRequestType> get_batch_request() override {
    std::optional<BatchRequestType> request = sampler_.next(this->options_.batch_size);
    if constexpr (requires { request->size(); })
      if (request && this->options_.drop_last && request->size() < this->options_.batch_size) return {};
    return request;
  }
  Sampler sampler_;
  std::optional<Sampler> epoch_start_sampler_;  // copy of sampler_ at the beginning of the epoch
  // Number of the epoch's examples that were skipped because load() continued within the epoch
  size_t epoch_start_position_ = 0;
};
template <class Dataset, class Sampler> using DataLoader = StatelessDataLoader<Dataset, Sampler>;

/// Loads the batches of a stateful dataset, which determines its own order and the end of its epoch. All workers use
/// the same dataset, so its get_batch must be thread-safe. The option drop_last is ignored.
template <class Dataset>
class StatefulDataLoader
    : public DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType> {
 public:
  using super = DataLoaderBase<Dataset, typename Dataset::BatchType::value_type, typename Dataset::BatchRequestType>;
  using typename super::BatchRequestType;

  /// @throws Error for invalid options
  StatefulDataLoader(Dataset dataset, const DataLoaderOptions& options)
      : super(options, std::make_unique<Dataset>(std::move(dataset))) {
    if (this->options_.workers == 0) return;
    std::vector<typename super::Workers::Work> work;
    for (size_t i = 0; i < this->options_.workers; ++i)
      work.push_back([staging = this->staging_, shared = this->main_thread_dataset_.get()](typename super::Job& job) {
        return super::make_batch(*shared, staging, job);
      });
    this->start_workers(std::move(work));
  }

 private:
  void reset() override {
    if (this->workers_) this->workers_->wait_until_idle();  // get_batch must not run while the dataset is reset
    this->main_thread_dataset_->reset();
  }
  std::optional<BatchRequestType> get_batch_request() override { return this->options_.batch_size; }
};

namespace detail {
template <class S>
concept IsSampler = requires(S sampler) {
  sampler.next(size_t{1});
};
}  // namespace detail

/// Returns a loader that loads a dataset's examples in the order of a sampler.
/// @throws Error if batch_size or max_jobs is 0
template <class Dataset, detail::IsSampler Sampler>
requires(!Dataset::is_stateful) std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(
    Dataset dataset, Sampler sampler, DataLoaderOptions options = {}) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}
/// Returns a loader with a new Sampler(*dataset.size()); dataset.size() must not be nullopt.
template <detail::IsSampler Sampler = samplers::RandomSampler, class Dataset>
requires(!Dataset::is_stateful && std::constructible_from<Sampler, size_t>)
    std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                                            DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  TANDEM_CHECK(size,
               "make_data_loader: Expected the dataset to be sized in order to construct the Sampler; its size() is "
               "nullopt, so pass a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}
/// Returns a loader of a stateful dataset, without a sampler.
template <class Dataset>
requires(Dataset::is_stateful) std::unique_ptr<StatefulDataLoader<Dataset>> make_data_loader(
    Dataset dataset, DataLoaderOptions options = {}) {
  return std::make_unique<StatefulDataLoader<Dataset>>(std::move(dataset), options);
}

}  // namespace tandem::data
