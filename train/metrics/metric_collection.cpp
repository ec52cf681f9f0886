// Implements MetricCollection.
#include "tandem/train/metrics/metric_collection.h"

#include "tandem/core/internal.h"
#include "tandem/serialize/archive.h"

namespace tandem::metrics {

MetricCollection& MetricCollection::add(std::string name, std::shared_ptr<Metric> metric) {
  TANDEM_CHECK(metric, "MetricCollection::add: the metric '", name, "' is null");
  for (const auto& [other, _] : metrics_)
    TANDEM_CHECK(other != name, "MetricCollection::add: there is a metric '", name,
                 "' already; accepted: add(\"another name\", metric)");
  metrics_.emplace_back(std::move(name), std::move(metric));
  return *this;
}

void MetricCollection::update(const Tensor& preds, const Tensor& target) {
  for (const auto& [_, metric] : metrics_) metric->update(preds, target);
}
std::map<std::string, Tensor> MetricCollection::compute() const {
  std::map<std::string, Tensor> values;
  for (const auto& [name, metric] : metrics_) values[prefix_ + name] = metric->compute();
  return values;
}
void MetricCollection::reset() {
  for (const auto& [_, metric] : metrics_) metric->reset();
}

Metric& MetricCollection::operator[](const std::string& name) const {
  std::string known;
  for (const auto& [other, metric] : metrics_) {
    if (other == name) return *metric;
    known += (known.empty() ? "" : ", ") + other;
  }
  TANDEM_FAIL("MetricCollection: there is no metric '", name, "'; accepted: ", known.empty() ? "none" : known);
}
std::vector<std::string> MetricCollection::names() const {
  std::vector<std::string> all;
  for (const auto& [name, _] : metrics_) all.push_back(name);
  return all;
}

void MetricCollection::save(serialize::OutputArchive& archive) const {
  for (const auto& [name, metric] : metrics_) {
    serialize::OutputArchive nested;
    metric->save(nested);
    archive.write(name, nested);
  }
}
void MetricCollection::load(serialize::InputArchive& archive) {
  for (const auto& [name, metric] : metrics_) {
    serialize::InputArchive nested;
    archive.read(name, nested);
    metric->load(nested);
  }
}

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const MetricCollection& metrics) {
  metrics.save(archive);
  return archive;
}
serialize::InputArchive& operator>>(serialize::InputArchive& archive, MetricCollection& metrics) {
  metrics.load(archive);
  return archive;
}

}  // namespace tandem::metrics
