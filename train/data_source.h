// DataSource: a dataset and how its examples are loaded. The Trainer gives each rank its part of every batch.
#pragma once
#include "tandem/data/batch_part.h"
#include "tandem/data/data_loader.h"
#include "tandem/data/dataset.h"
#include "tandem/data/samplers/shard_sampler.h"
#include "tandem/serialize/archive.h"
#include "tandem/train/any_tree.h"

namespace tandem::train {

namespace detail {

/// The settings of a rank's loader that follow from the strategy.
struct SourceSettings {
  int rank = 0, ranks = 1;
  uint64_t seed = 0;
  std::optional<Device> device = {};  // device of the batches after loading; nullopt: the CPU
  bool pin_memory = false;
};

/// Returns, for each batch over all ranks, the part of one rank: consecutive examples, divided as DataParallel divides
/// a batch over devices (shard_sizes). So all strategies compute the same parts of the same batches, and each example
/// is used exactly once. A last batch with fewer examples than ranks has no part for the last ranks.
class SliceSampler : public data::samplers::Sampler<data::BatchPart> {
 public:
  /// @param batch_size  number of examples in a batch over all ranks
  /// @param lengths     see DataSource::lengths; null: the lengths do not matter
  SliceSampler(size_t size, size_t batch_size, bool drop_last, bool shuffle, const SourceSettings& settings,
               std::shared_ptr<const std::vector<int64_t>> lengths = nullptr);
  void reset(std::optional<size_t> new_size = {}) override;
  /// Ignores its argument, because the sampler knows the size of the batches over all ranks.
  std::optional<data::BatchPart> next(size_t) override;
  void save(serialize::OutputArchive& archive) const override { order_.save(archive); }
  void load(serialize::InputArchive& archive) override;
  void set_epoch(size_t epoch);
  size_t epoch() const { return order_.epoch(); }
  /// Positions of the examples that next() returns, counted over all ranks.
  data::detail::ExamplePositions positions() const;
  /// Number of examples in batch `index` over all ranks, and the number of batches in an epoch.
  int64_t rows_in_batch(int64_t index) const;
  int64_t num_batches() const;

 private:
  /// Returns the range, within a batch of `rows` rows, of this rank's rows.
  std::pair<size_t, size_t> slice(size_t rows) const;
  void group();
  data::samplers::ShardSampler order_;                   // of all ranks together
  std::shared_ptr<const std::vector<int64_t>> lengths_;  // null: batches follow order_
  std::vector<size_t> grouped_;                          // examples of order_, grouped by length
  size_t size_, batch_size_;
  bool drop_last_, shuffle_;
  uint64_t seed_;
  int rank_, ranks_;
};

/// The batches of one rank.
class BatchSource {
 public:
  explicit BatchSource(const SliceSampler& sampler) : layout_(sampler) {}
  virtual ~BatchSource() = default;
  /// Begins epoch `epoch`, or continues the epoch that load() has read.
  virtual void begin_epoch(size_t epoch) = 0;
  /// Returns this rank's part of the next batch; nullopt if the batch has none for this rank, or the epoch is over.
  virtual std::optional<AnyTree> next() = 0;
  /// Ends the epoch, also if batches are left. The next begin_epoch() does not continue it.
  virtual void end_epoch() = 0;
  virtual void save(serialize::OutputArchive& archive) const = 0;
  virtual void load(serialize::InputArchive& archive) = 0;
  int64_t num_batches() const { return layout_.num_batches(); }
  int64_t rows_in_batch(int64_t index) const { return layout_.rows_in_batch(index); }

 private:
  SliceSampler layout_;  // knows the sizes of batches
};

/// Whether a type of batches is a list of examples.
template <class Batch> inline constexpr bool kIsList = false;
template <class Example> inline constexpr bool kIsList<std::vector<Example>> = true;

/// Writes and reads whether a source is within an epoch, in addition to the loader's position.
void write_in_epoch(serialize::OutputArchive& archive, bool in_epoch);
bool read_in_epoch(serialize::InputArchive& archive);

template <class Dataset> class LoaderSource final : public BatchSource {
 public:
  LoaderSource(Dataset dataset, const SliceSampler& sampler, const data::DataLoaderOptions& options)
      : BatchSource(sampler), loader_(std::move(dataset), sampler, options) {}
  void begin_epoch(size_t epoch) override {
    if (!std::exchange(continues_, false)) {
      if (std::exchange(has_rest_, false)) loader_.begin();  // drops the rest of the epoch that load() has read
      loader_.sampler().set_epoch(epoch);
    }
    next_ = loader_.begin();
    begun_ = false;
    in_epoch_ = true;
  }
  std::optional<AnyTree> next() override {
    if (std::exchange(begun_, true)) ++next_;
    if (next_ == loader_.end()) {
      begun_ = false;  // stays at the end
      return {};
    }
    return AnyTree(std::move(*next_));
  }
  void end_epoch() override { in_epoch_ = false; }
  void save(serialize::OutputArchive& archive) const override {
    write_in_epoch(archive, in_epoch_);
    serialize::OutputArchive loader;
    loader_.save(loader);
    archive.write("loader", loader);
  }
  void load(serialize::InputArchive& archive) override {
    continues_ = read_in_epoch(archive);
    has_rest_ = !continues_;
    serialize::InputArchive loader;
    archive.read("loader", loader);
    loader_.load(loader);
  }

 private:
  data::StatelessDataLoader<Dataset, SliceSampler> loader_;
  data::Iterator<typename Dataset::BatchType> next_;
  bool begun_ = false;  // whether next_ has been read
  bool in_epoch_ = false;
  bool continues_ = false;  // whether the next begin_epoch() continues the epoch that load() has read
  bool has_rest_ = false;   // whether the loader would continue an epoch that is over
};

}  // namespace detail

/// A dataset, and the options of its loader:
///
///     train::DataSource(dataset).batch_size(64).shuffle(true).workers(2)
///
/// If the dataset returns lists of examples, the source stacks them to batches of the type data::Example<>. The dataset
/// must know its size, and each rank and each worker has a copy of it. A dataset whose requests are data::BatchPart
/// also learns the other ranks' parts of a batch. If shuffle is true, the order depends on the seed and the epoch only,
/// so all strategies see the same batches.
class DataSource {
 public:
  /// @throws Error if the dataset does not know its size
  template <class Dataset>
  requires(!std::is_same_v<std::decay_t<Dataset>, DataSource>) explicit DataSource(Dataset dataset)
      : size_(checked_size(dataset.size())) {
    using Batch = typename Dataset::BatchType;
    static_assert(!Dataset::is_stateful,
                  "DataSource: the dataset determines its own order and the end of its epoch, so "
                  "batches cannot be divided among ranks; use a dataset with get(index)");
    if constexpr (detail::kIsList<Batch>)
      set_dataset(std::move(dataset).map(data::transforms::Stack<typename Batch::value_type>()));
    else
      set_dataset(std::move(dataset));
  }
  /// Number of examples in a batch, over all devices and ranks: with 2 ranks and batch_size(64), each rank loads 32.
  TANDEM_ARG(int64_t, batch_size) = 1;
  /// If true, each epoch has a random order.
  TANDEM_ARG(bool, shuffle) = false;
  /// Number of threads of each rank that make batches; 0: the training thread makes them.
  TANDEM_ARG(int64_t, workers) = 0;
  /// If true, a last batch with fewer than batch_size examples is left out.
  TANDEM_ARG(bool, drop_last) = false;
  /// Length of each example, such as its number of tokens. If it is set, a batch has examples of similar lengths, so
  /// padding wastes little. With shuffle(true), batches are chosen as samplers::LengthGroupedSampler chooses them;
  /// without, the longest examples come first.
  TANDEM_ARG(std::vector<int64_t>, lengths) = {};

 public:
  /// Number of examples.
  size_t size() const { return size_; }
  /// Makes the loader of one rank. @throws Error for invalid options
  std::unique_ptr<detail::BatchSource> open(const detail::SourceSettings& settings) const {
    return open_(sampler(settings), loader_options(settings));
  }

 private:
  static size_t checked_size(std::optional<size_t> size);
  detail::SliceSampler sampler(const detail::SourceSettings& settings) const;
  data::DataLoaderOptions loader_options(const detail::SourceSettings& settings) const;
  template <class Dataset> void set_dataset(Dataset dataset) {
    open_ = [dataset = std::move(dataset)](const detail::SliceSampler& sampler,
                                           const data::DataLoaderOptions& options) {
      return std::unique_ptr<detail::BatchSource>(new detail::LoaderSource<Dataset>(dataset, sampler, options));
    };
  }
  size_t size_;
  std::function<std::unique_ptr<detail::BatchSource>(const detail::SliceSampler&, const data::DataLoaderOptions&)>
      open_;
};

}  // namespace tandem::train
