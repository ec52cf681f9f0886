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

/// Determines the order of the examples of an epoch, over all ranks: a sampler of any type.
class ExampleOrder {
 public:
  virtual ~ExampleOrder() = default;
  virtual std::unique_ptr<ExampleOrder> clone() const = 0;
  virtual data::samplers::Sampler<>& sampler() = 0;
  /// Sets the epoch, if the sampler has a set_epoch().
  virtual void set_epoch(size_t epoch) = 0;
  /// Number of indices that the sampler has returned in this epoch.
  virtual size_t index() const = 0;
  /// Number of indices in an epoch.
  virtual size_t size() const = 0;
};
template <class S> inline constexpr bool kHasSetEpoch = requires(S& sampler) { sampler.set_epoch(size_t{}); };
template <class S> class SamplerOrder final : public ExampleOrder {
 public:
  explicit SamplerOrder(S sampler) : sampler_(std::move(sampler)) {}
  std::unique_ptr<ExampleOrder> clone() const override { return std::make_unique<SamplerOrder>(sampler_); }
  data::samplers::Sampler<>& sampler() override { return sampler_; }
  void set_epoch(size_t epoch) override {
    if constexpr (kHasSetEpoch<S>) sampler_.set_epoch(epoch);
  }
  size_t index() const override { return sampler_.index(); }
  size_t size() const override { return sampler_.epoch_size(); }

 private:
  S sampler_;
};

/// Sizes of the batches of an epoch, over all ranks.
struct BatchLayout {
  size_t size = 0, batch_size = 1;  // number of examples in an epoch and in a batch
  bool drop_last = false;
  int64_t rows_in_batch(int64_t index) const;
  int64_t num_batches() const;
};

/// Returns, for each batch over all ranks, the part of one rank: consecutive examples, divided as DataParallel divides
/// a batch over devices (shard_sizes). So all strategies compute the same parts of the same batches, and each example
/// is used exactly once. A last batch with fewer examples than ranks has no part for the last ranks.
class SliceSampler : public data::samplers::Sampler<data::BatchPart> {
 public:
  SliceSampler(std::unique_ptr<ExampleOrder> order, size_t batch_size, bool drop_last, const SourceSettings& settings);
  SliceSampler(const SliceSampler& other)
      : order_(other.order_->clone()),
        layout_(other.layout_),
        epoch_(other.epoch_),
        rank_(other.rank_),
        ranks_(other.ranks_) {}
  SliceSampler& operator=(const SliceSampler&) = delete;
  void reset(std::optional<size_t> new_size = {}) override { order_->sampler().reset(new_size); }
  /// Ignores its argument, because the sampler knows the size of the batches over all ranks.
  std::optional<data::BatchPart> next(size_t) override;
  void save(serialize::OutputArchive& archive) const override { order_->sampler().save(archive); }
  void load(serialize::InputArchive& archive) override { order_->sampler().load(archive); }
  void set_epoch(size_t epoch) { order_->set_epoch(epoch_ = epoch); }
  size_t epoch() const { return epoch_; }
  /// Positions of the examples that next() returns, counted over all ranks.
  data::detail::ExamplePositions positions() const;
  const BatchLayout& layout() const { return layout_; }

 private:
  /// Returns the range, within a batch of `rows` rows, of this rank's rows.
  std::pair<size_t, size_t> slice(size_t rows) const;
  std::unique_ptr<ExampleOrder> order_;  // of all ranks together
  BatchLayout layout_;
  size_t epoch_ = 0;
  int rank_, ranks_;
};

/// The batches of one rank.
class BatchSource {
 public:
  explicit BatchSource(const BatchLayout& layout) : layout_(layout) {}
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
  BatchLayout layout_;
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
      : BatchSource(sampler.layout()), loader_(std::move(dataset), sampler, options) {}
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
  /// padding wastes little: samplers::LengthGroupedSampler chooses the batches. With shuffle(false), the longest
  /// examples come first.
  TANDEM_ARG(std::vector<int64_t>, lengths) = {};

 public:
  /// Sets the function that makes the sampler, which determines the examples of each epoch and their order:
  ///
  ///     source.sampler([] { return data::samplers::RandomSampler(1000); });
  ///
  /// Each rank calls it when it makes its loader. The sampler returns the indices of all ranks, and each rank uses its
  /// part of every batch_size indices. So ranks must have the same order: with several ranks the sampler needs a
  /// set_epoch(), as ShardSampler has.
  template <class MakeSampler> DataSource& sampler(MakeSampler make_sampler) {
    using S = std::invoke_result_t<MakeSampler&>;
    static_assert(std::is_base_of_v<data::samplers::Sampler<>, S>, "sampler(f): f() returns a sampler of indices");
    make_order_ = [make_sampler]() -> std::unique_ptr<detail::ExampleOrder> {
      return std::make_unique<detail::SamplerOrder<S>>(make_sampler());
    };
    order_depends_on_epoch_ = detail::kHasSetEpoch<S>;
    return *this;
  }
  /// Number of examples.
  size_t size() const { return size_; }
  /// Makes the loader of one rank. @throws Error for invalid options
  std::unique_ptr<detail::BatchSource> open(const detail::SourceSettings& settings) const {
    return open_(make_sampler(settings), loader_options(settings));
  }

 private:
  static size_t checked_size(std::optional<size_t> size);
  detail::SliceSampler make_sampler(const detail::SourceSettings& settings) const;
  data::DataLoaderOptions loader_options(const detail::SourceSettings& settings) const;
  template <class Dataset> void set_dataset(Dataset dataset) {
    open_ = [dataset = std::move(dataset)](const detail::SliceSampler& sampler,
                                           const data::DataLoaderOptions& options) {
      return std::unique_ptr<detail::BatchSource>(new detail::LoaderSource<Dataset>(dataset, sampler, options));
    };
  }
  size_t size_;
  std::function<std::unique_ptr<detail::ExampleOrder>()> make_order_;  // empty: as `shuffle` says
  bool order_depends_on_epoch_ = true;                                 // and on nothing else that ranks may differ in
  std::function<std::unique_ptr<detail::BatchSource>(const detail::SliceSampler&, const data::DataLoaderOptions&)>
      open_;
};

}  // namespace tandem::train
