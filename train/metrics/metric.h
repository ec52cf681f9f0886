// Metric: base class of metrics, which accumulate their states over batches and add them up over the ranks.
#pragma once
#include "tandem/core/option.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

namespace tandem::metrics {

/// Options of all metrics. Self is the option class that derives from this class.
template <class Self> class MetricOptions {
  /// If false, compute() uses only the batches of this rank.
  TANDEM_INHERITED_ARG(Self, bool, sync_on_compute) = true;
  /// Group whose ranks compute() adds up; if null, the default group.
  TANDEM_INHERITED_ARG(Self, distributed::ProcessGroupPtr, process_group) = nullptr;
};

/// Base class of metrics, as torchmetrics.Metric:
///
///     metrics::Accuracy accuracy(metrics::AccuracyOptions("multiclass").num_classes(10));
///     for (auto& batch : *loader) accuracy.update(net(batch.data), batch.target);
///     std::cout << accuracy.compute().item<double>() << '\n';  // over the batches of all ranks
///     accuracy.reset();
///
/// A metric keeps states: tensors that summarize all batches so far. Integers count exactly, sums are float64. States
/// are on the device of the last batch, and updating on a GPU does not make the host wait. Copies of a metric are
/// independent. Autograd does not record metrics.
///
/// A metric of your own derives from this class. Its constructor declares the states by add_state(), batch_states()
/// computes the states of one batch, and compute_value() computes the result from states.
class Metric {
 public:
  virtual ~Metric() = default;
  /// Returns the name of the metric's class, for error messages and MetricCollection.
  virtual std::string name() const = 0;
  /// Adds a batch. @throws Error for shapes, dtypes or labels that the metric does not accept; the metric then stays as
  /// it was. For tensors on a GPU, compute() checks the labels instead, so that the host need not wait for the GPU
  void update(const Tensor& preds, const Tensor& target);
  /// Returns the metric over all batches: a float64 scalar, vector or matrix, or int64 counts. If there is a process
  /// group of several ranks, all ranks must call compute(), and get the value over the batches of all ranks. The
  /// accumulated states do not change, so that further updates may follow. Prints a warning before the first update.
  Tensor compute() const;
  /// Returns the metric over the batches of this rank.
  Tensor compute_on_this_rank() const;
  /// Forgets all batches.
  void reset();
  /// Adds the batches of another metric of the same class and options.
  /// @throws Error if the class or the shapes of the states differ
  void merge(const Metric& other);
  /// Returns the number of updates of this rank since construction or reset().
  int64_t num_updates() const { return num_updates_; }
  /// Writes the states of this rank, so that a resumed run can continue with the next batch.
  void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote. @throws Error if a state is missing or its shape or dtype does not fit this metric, which
  /// then stays as it was
  void load(serialize::InputArchive& archive);

 protected:
  /// Combination of two values of a state. SUM: added. MAX: larger element. CAT: concatenated along the first
  /// dimension. MERGE: by merge_states().
  enum class Reduction { SUM, MAX, CAT, MERGE };

  /// @param options  a class derived from MetricOptions
  template <class Options>
  explicit Metric(const MetricOptions<Options>& options)
      : sync_on_compute_(options.sync_on_compute()), group_(options.process_group()) {}
  Metric(const Metric&) = default;
  Metric(Metric&&) = default;
  Metric& operator=(const Metric&) = default;
  Metric& operator=(Metric&&) = default;

  /// Declares a state. The number of a state is the number of calls before.
  /// @param initial  value before the first batch; undefined for CAT, and for MERGE if the shape depends on the batches
  void add_state(std::string name, Tensor initial, Reduction reduction);
  /// Returns the states of one batch, in the order of add_state(), on the device of the batch. Called without autograd.
  virtual std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const = 0;
  /// Computes the metric from states. A state is undefined if `initial` was and there has been no batch. If ranks were
  /// added up, it is called on all ranks with equal states, so that an exception occurs on all of them.
  virtual Tensor compute_value(const std::vector<Tensor>& states) const = 0;
  /// Combines two values of a state with Reduction::MERGE.
  virtual Tensor merge_states(const Tensor& a, const Tensor& b) const;
  /// Prints a warning to standard error, on the first rank of the group only.
  void warn(const std::string& text) const;

 private:
  struct State {
    std::string name;
    Tensor initial;
    Reduction reduction;
    std::vector<Tensor> values;  // CAT: one tensor per batch; otherwise one tensor, or none before the first batch
  };
  distributed::ProcessGroupPtr sync_group() const;
  /// Returns the metric over the ranks of a group; over this rank's batches if it is null.
  Tensor compute_over(const distributed::ProcessGroupPtr& group) const;
  Tensor local_value(const State& state) const;
  Tensor value_over_ranks(const State& state, const distributed::ProcessGroupPtr& group) const;
  void append(State& state, const Tensor& value) const;

  std::vector<State> states_;
  int64_t num_updates_ = 0;
  bool sync_on_compute_;
  distributed::ProcessGroupPtr group_;
};

/// Calls metric.save(archive), so that torch::save takes metrics.
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Metric& metric);
/// Calls metric.load(archive), so that torch::load takes metrics.
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Metric& metric);

}  // namespace tandem::metrics
