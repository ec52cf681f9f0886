// Cases of fixtures/metrics.json: random batches, and the values that torchmetrics computes from them.
#pragma once
#include <cmath>
#include <memory>

#include "tandem/tandem.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/json.h"

namespace tandem::test {

struct MetricCase {
  std::string text;  // the row, for messages
  std::function<std::unique_ptr<metrics::Metric>()> make;
  std::vector<Tensor> preds = {}, target = {};  // by batch
  bool counts;                                  // the value depends on integers only, or on an order of scores
  bool has_value;                               // false if torchmetrics refuses to compute
  std::vector<double> value = {};
  std::vector<int64_t> shape;
};

/// Returns the tensor that make_metric_fixtures.py generates from this spec.
inline Tensor metric_input(const nlohmann::json& spec, uint32_t salt, DType dtype) {
  const auto shape = spec.at("shape").get<std::vector<int64_t>>();
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<double> u;
  for (int64_t i = 0; i < count; ++i) u.push_back(unit(i, salt));
  Tensor k = tensor(u, kFloat64).view(shape);
  if (spec.contains("order")) {
    const auto dim = spec["order"].get<int64_t>();
    k = k.argsort(dim).argsort(dim).to(kFloat64);
  } else {
    k = (k * spec.at("levels").get<double>()).floor();
  }
  return ((k - spec.at("minus").get<double>()) * spec.at("times").get<double>()).to(dtype);
}

template <class Options> Options classification_options(const nlohmann::json& o) {
  Options options(o.at("task").get<std::string>());
  if (o.contains("num_classes")) options.num_classes(o["num_classes"].get<int64_t>());
  if (o.contains("num_labels")) options.num_labels(o["num_labels"].get<int64_t>());
  if (o.contains("ignore_index")) options.ignore_index(o["ignore_index"].get<int64_t>());
  return options;
}

inline std::unique_ptr<metrics::Metric> make_metric(const std::string& name, const nlohmann::json& o) {
  using namespace metrics;
  if (name == "MeanSquaredError")
    return std::make_unique<MeanSquaredError>(
        MeanSquaredErrorOptions().squared(o.at("squared").get<bool>()).num_outputs(o.value("num_outputs", 1)));
  if (name == "MeanAbsoluteError")
    return std::make_unique<MeanAbsoluteError>(MeanAbsoluteErrorOptions().num_outputs(o.value("num_outputs", 1)));
  if (name == "R2Score")
    return std::make_unique<R2Score>(
        R2ScoreOptions().adjusted(o.at("adjusted").get<int64_t>()).multioutput(o.at("multioutput").get<std::string>()));
  if (name == "Perplexity") {
    PerplexityOptions options;
    if (o.contains("ignore_index")) options.ignore_index(o["ignore_index"].get<int64_t>());
    return std::make_unique<Perplexity>(options);
  }
  if (name == "ConfusionMatrix")
    return std::make_unique<ConfusionMatrix>(classification_options<ConfusionMatrixOptions>(o)
                                                 .threshold(o.value("threshold", 0.5))
                                                 .normalize(o.at("normalize").get<std::string>()));
  if (name == "AUROC")
    return std::make_unique<AUROC>(classification_options<AUROCOptions>(o).average(o.value("average", "macro")));
  const auto options = classification_options<StatScoresOptions>(o)
                           .average(o.value("average", "micro"))
                           .top_k(o.value("top_k", 1))
                           .threshold(o.value("threshold", 0.5))
                           .zero_division(o.value("zero_division", 0));
  if (name == "Accuracy") return std::make_unique<Accuracy>(options);
  if (name == "Precision") return std::make_unique<Precision>(options);
  if (name == "Recall") return std::make_unique<Recall>(options);
  if (name == "F1Score") return std::make_unique<F1Score>(options);
  return std::make_unique<FBetaScore>(options, o.at("beta").get<double>());
}

inline std::vector<MetricCase> metric_cases() {
  std::vector<MetricCase> cases;
  uint32_t salt = 1;
  const nlohmann::json fixture = read_json("metrics.json");
  for (const nlohmann::json& row : fixture.at("cases")) {
    const auto name = row.at("m").get<std::string>();
    const bool regression = name == "MeanSquaredError" || name == "MeanAbsoluteError" || name == "R2Score";
    MetricCase c{.text = row.dump(),
                 .make = [name, o = row.at("o")] { return make_metric(name, o); },
                 .counts = !regression && name != "Perplexity",
                 .has_value = !row.at("v").is_null(),
                 .shape = row.at("s").get<std::vector<int64_t>>()};
    const auto batches = row.at("b").get<std::vector<int64_t>>();
    const auto split = [&](const Tensor& x) { return x.split_with_sizes(batches); };
    c.preds = split(metric_input(row.at("p"), salt, dtype_named(row.value("d", "float64"))));
    c.target = split(metric_input(row.at("t"), salt + 1, regression ? kFloat64 : kInt64));
    if (c.has_value)
      for (const auto& v : row["v"])
        c.value.push_back(v.is_string() ? std::stod(v.get<std::string>()) : v.get<double>());
    salt += 2;
    cases.push_back(std::move(c));
  }
  return cases;
}

/// Returns whether x has these elements. The tolerance 1e-12 leaves room for sums in another order.
inline bool is_near(const Tensor& x, const std::vector<double>& expected) {
  const Tensor flat = x.to(kCPU, kFloat64).flatten();
  if (flat.numel() != static_cast<int64_t>(expected.size())) return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double a = flat[static_cast<int64_t>(i)].item<double>(), b = expected[i];
    if (std::isnan(b) ? !std::isnan(a) : !(std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(b)))) return false;
  }
  return true;
}

}  // namespace tandem::test
