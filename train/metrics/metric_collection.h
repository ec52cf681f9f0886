// MetricCollection: several metrics of the same predictions.
#pragma once
#include <map>
#include <memory>

#include "tandem/train/metrics/metric.h"

namespace tandem::metrics {

/// Metrics that are updated together, by name, as torchmetrics.MetricCollection:
///
///     metrics::MetricCollection metrics;
///     metrics.add(metrics::Accuracy(options)).add("top5", metrics::Accuracy(options.top_k(5)));
///     metrics.update(net(batch.data), batch.target);
///     for (const auto& [name, value] : metrics.compute()) ...
///
/// Copies share the metrics.
class MetricCollection {
 public:
  /// @param prefix  put before each name in compute(), for example "val_"
  explicit MetricCollection(std::string prefix = "") : prefix_(std::move(prefix)) {}
  /// Adds a metric under a name; by default, under Metric::name(). @throws Error if the name is in use
  template <class M>
  requires std::is_base_of_v<Metric, M> MetricCollection& add(M metric) {
    std::string name = metric.name();
    return add(std::move(name), std::make_shared<M>(std::move(metric)));
  }
  template <class M>
  requires std::is_base_of_v<Metric, M> MetricCollection& add(std::string name, M metric) {
    return add(std::move(name), std::make_shared<M>(std::move(metric)));
  }
  /// Adds a metric that the program shares. @throws Error if it is null or the name is in use
  MetricCollection& add(std::string name, std::shared_ptr<Metric> metric);
  /// Adds a batch to every metric. @throws Error as Metric::update; metrics before the one that throws keep the batch
  void update(const Tensor& preds, const Tensor& target);
  /// Returns the values of all metrics by name, with the prefix. With several ranks, all ranks must call it.
  std::map<std::string, Tensor> compute() const;
  /// Calls reset() of every metric.
  void reset();
  /// Returns the metric with this name, without the prefix. @throws Error if there is none
  Metric& operator[](const std::string& name) const;
  /// Returns the names, without the prefix, in the order of add().
  std::vector<std::string> names() const;
  /// Returns the number of metrics.
  size_t size() const { return metrics_.size(); }
  /// Returns whether there are no metrics.
  bool empty() const { return metrics_.empty(); }
  /// Writes the states of every metric, under its name.
  void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote. @throws Error as Metric::load, and if a metric is missing
  void load(serialize::InputArchive& archive);

 private:
  std::string prefix_;
  std::vector<std::pair<std::string, std::shared_ptr<Metric>>> metrics_;
};

/// Calls metrics.save(archive), so that torch::save takes collections of metrics.
serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const MetricCollection& metrics);
/// Calls metrics.load(archive), so that torch::load takes collections of metrics.
serialize::InputArchive& operator>>(serialize::InputArchive& archive, MetricCollection& metrics);

}  // namespace tandem::metrics
