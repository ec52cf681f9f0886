// Tests metrics where torchmetrics is no oracle: warnings, states over ranks, saved states, large numbers, GPUs.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <random>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/train/metric_inputs.h"

using namespace tandem;
using namespace tandem::metrics;
using test::error_of, test::labels, test::numbers;

namespace {

/// Returns what `run` writes to standard error.
std::string stderr_of(const std::function<void()>& run) {
  const test::TemporaryFolder folder;
  const int saved = ::dup(STDERR_FILENO), file = ::open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(file, STDERR_FILENO);
  run();
  ::dup2(saved, STDERR_FILENO);
  ::close(saved), ::close(file);
  return test::read_file(folder / "err");
}

/// Sum of preds + target over all batches: a metric that a program defines.
class SumOfBoth : public Metric {
 public:
  struct Options : MetricOptions<Options> {};
  explicit SumOfBoth(Options options = {}) : Metric(options) {
    add_state("sum", zeros({}, TensorOptions().dtype(kFloat64)), Reduction::SUM);
    add_state("largest", full({}, -INFINITY, TensorOptions().dtype(kFloat64)), Reduction::MAX);
  }
  std::string name() const override { return "SumOfBoth"; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override {
    const Tensor both = (preds + target).to(kFloat64);
    return {both.sum(), both.amax()};
  }
  Tensor compute_value(const std::vector<Tensor>& states) const override { return stack({states[0], states[1]}); }
};

}  // namespace

TEST_CASE("of equal scores, the lower class counts as higher", "[metrics]") {
  const Tensor scores = numbers({0.25, 0.25, 0.25, 0.25, 0.25}).view({1, 5});
  for (int64_t k = 1; k <= 5; ++k)
    for (int64_t target = 0; target < 5; ++target) {
      Accuracy accuracy(AccuracyOptions("multiclass").num_classes(5).top_k(k));
      accuracy.update(scores, labels({target}));
      CHECK(accuracy.compute().item<double>() == (target < k ? 1 : 0));
    }
}

TEST_CASE("compute before update warns, and values of nothing are as torchmetrics has them", "[metrics]") {
  double accuracy = -1, mse = 0;
  const std::string text = stderr_of([&] {
    accuracy = Accuracy("binary").compute().item<double>();
    mse = MeanSquaredError().compute().item<double>();
  });
  CHECK(accuracy == 0);
  CHECK(std::isnan(mse));
  CHECK(text ==
        "tandem: warning: Accuracy: compute() was called before update(); there are no batches\n"
        "tandem: warning: MeanSquaredError: compute() was called before update(); there are no batches\n");
  stderr_of([] {
    CHECK(error_of([] { AUROC("binary").compute(); }) ==
          "AUROC: there are no batches; accepted: compute() after update()");
    CHECK(error_of([] { R2Score().compute(); }) == "R2Score: there are 0 examples; accepted: two or more");
  });
}

TEST_CASE("metrics warn of what has no value", "[metrics]") {
  AUROC auroc(AUROCOptions("multiclass").num_classes(3).average("none"));
  auroc.update(numbers({0.2, 0.3, 0.5, 0.6, 0.2, 0.2}).view({2, 3}), labels({2, 0}));
  Tensor areas;
  CHECK(stderr_of([&] { areas = auroc.compute(); }) ==
        "tandem: warning: AUROC: target has no positive elements of class 1; the area is 0\n");
  CHECK(areas.equal(numbers({1, 0, 1})));
  ConfusionMatrix confusion(ConfusionMatrixOptions("multiclass").num_classes(3).normalize("true"));
  confusion.update(labels({0, 1}), labels({0, 0}));
  Tensor matrix;
  CHECK(stderr_of([&] { matrix = confusion.compute(); }) ==
        "tandem: warning: ConfusionMatrix: 6 values 0 / 0 of the normalized confusion matrix are now 0\n");
  CHECK(matrix.equal(numbers({0.5, 0.5, 0, 0, 0, 0, 0, 0, 0}).view({3, 3})));
  R2Score r2(R2ScoreOptions().adjusted(3));
  r2.update(numbers({1, 2, 4}), numbers({1, 2, 3}));
  CHECK(stderr_of([&] { CHECK(r2.compute().item<double>() == Approx(0.5).margin(1e-12)); }) ==
        "tandem: warning: R2Score: adjusted is 3 and there are 3 examples; the value is R2, which is not adjusted\n");
}

TEST_CASE("empty batches add nothing", "[metrics]") {
  const auto compare = [](auto metric, const Tensor& preds, const Tensor& target) {
    metric.update(preds, target);
    const Tensor before = metric.compute();
    metric.update(preds.slice(0, 0, 0), target.slice(0, 0, 0));
    CHECK(metric.compute().equal(before));
    auto first = metric;
    first.reset();
    first.update(preds.slice(0, 0, 0), target.slice(0, 0, 0));
    first.update(preds, target);
    CHECK(first.compute().equal(before));
  };
  manual_seed(1);
  const Tensor scores = rand({6, 3}), target = labels({0, 1, 2, 0, 1, 1}), halves = labels({0, 1, 1, 0, 1, 0});
  compare(Accuracy(AccuracyOptions("multiclass").num_classes(3)), scores, target);
  compare(Recall(RecallOptions("multiclass").num_classes(3).top_k(2).average("macro")), scores, target);
  compare(ConfusionMatrix(ConfusionMatrixOptions("multiclass").num_classes(3)), scores, target);
  compare(AUROC(AUROCOptions("multiclass").num_classes(3)), scores, target);
  compare(Precision("binary"), scores.select(1, 0), halves);
  compare(F1Score(F1ScoreOptions("multilabel").num_labels(3)), scores, (scores > 0.3).to(kInt64));
  compare(MeanSquaredError(MeanSquaredErrorOptions().num_outputs(3)), scores, scores * 2);
  compare(MeanAbsoluteError(), scores, scores * 2);
  compare(R2Score(), scores, scores * 2);
  compare(Perplexity(), scores.view({6, 1, 3}), target.view({6, 1}));
}

TEST_CASE("R2Score keeps its digits if targets are far from 0", "[metrics]") {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  const int64_t count = 1000, rows = 50;
  std::vector<double> preds, target;
  for (int64_t i = 0; i < count; ++i) {
    target.push_back(1e7 + normal(random));
    preds.push_back(target.back() + 0.5 * normal(random));
  }
  long double sum = 0, tss = 0, rss = 0;
  for (const double y : target) sum += y;
  for (size_t i = 0; i < target.size(); ++i) {
    tss += (target[i] - sum / count) * (target[i] - sum / count);
    rss += static_cast<long double>(target[i] - preds[i]) * (target[i] - preds[i]);
  }
  R2Score batches, whole;
  for (int64_t i = 0; i < count; i += rows)
    batches.update(tensor(preds, kFloat64).slice(0, i, i + rows), tensor(target, kFloat64).slice(0, i, i + rows));
  whole.update(tensor(preds, kFloat64), tensor(target, kFloat64));
  CHECK(batches.compute().item<double>() == Approx(static_cast<double>(1 - rss / tss)).epsilon(1e-12));
  CHECK(whole.compute().item<double>() == Approx(batches.compute().item<double>()).epsilon(1e-12));
}

TEST_CASE("Perplexity of half-precision logits is computed in float32", "[metrics]") {
  manual_seed(2);
  for (const Dtype dtype : {kFloat16, kBFloat16}) {
    const Tensor logits = randn({2, 5, 50}).to(dtype), target = randint(50, {2, 5}, kInt64);
    Perplexity half, full;
    half.update(logits, target);
    full.update(logits.to(kFloat32), target);
    CHECK(half.compute().equal(full.compute()));
  }
}

TEST_CASE("a run that resumes from saved states continues like one without a break", "[metrics]") {
  const test::TemporaryFolder folder;
  manual_seed(3);
  std::vector<Tensor> scores, targets;
  for (int i = 0; i < 6; ++i) {
    scores.push_back(rand({5, 3}));
    targets.push_back(randint(3, {5}, kInt64));
  }
  const auto make = [] {
    MetricCollection metrics("val_");
    metrics.add(Accuracy(AccuracyOptions("multiclass").num_classes(3)))
        .add(AUROC(AUROCOptions("multiclass").num_classes(3)))
        .add("confusion", ConfusionMatrix(ConfusionMatrixOptions("multiclass").num_classes(3)));
    return metrics;
  };
  for (size_t stop = 0; stop <= 6; ++stop) {
    MetricCollection before = make(), whole = make(), after = make();
    for (size_t i = 0; i < 6; ++i) {
      whole.update(scores[i], targets[i]);
      if (i < stop) before.update(scores[i], targets[i]);
    }
    save(before, folder / "metrics.pt");
    after.update(scores[0], targets[0]);  // is forgotten
    load(after, folder / "metrics.pt");
    for (size_t i = stop; i < 6; ++i) after.update(scores[i], targets[i]);
    const auto expected = whole.compute(), got = after.compute();
    REQUIRE(got.size() == 3);
    for (const auto& [name, value] : expected) CHECK(got.at(name).equal(value));
    CHECK(after["AUROC"].num_updates() == 6);
  }
  R2Score r2, restored;
  r2.update(numbers({1, 2, 4}), numbers({1, 2, 3}));
  save(r2, folder / "r2.pt");
  load(restored, folder / "r2.pt");
  CHECK(restored.compute().equal(r2.compute()));
  Accuracy other(AccuracyOptions("multiclass").num_classes(4));
  other.update(labels({1}), labels({1}));
  save(Accuracy(AccuracyOptions("multiclass").num_classes(3)), folder / "3.pt");
  CHECK_THAT(error_of([&] { load(other, folder / "3.pt"); }),
             Contains("the state 'counts' of Accuracy is (4, 3) of int64; accepted: (4, 4) of int64"));
  CHECK_THAT(error_of([&] { load(other, folder / "r2.pt"); }), Contains("the state 'counts' of Accuracy is missing"));
  CHECK(other.compute().item<double>() == 1);
}

TEST_CASE("copies of a metric are independent, and merge adds one to the other", "[metrics]") {
  manual_seed(4);
  const auto check = [](auto metric, const Tensor& preds, const Tensor& target) {
    auto whole = metric;
    metric.update(preds.slice(0, 0, 2), target.slice(0, 0, 2));
    auto rest = metric;
    rest.reset();
    rest.update(preds.slice(0, 2), target.slice(0, 2));
    auto merged = metric;
    merged.merge(rest);
    whole.update(preds, target);
    CHECK(merged.compute().allclose(whole.compute(), 1e-12, 1e-12));
    CHECK(merged.num_updates() == 2);
    CHECK(metric.num_updates() == 1);
    metric.merge(metric);
    CHECK(metric.num_updates() == 2);
  };
  const Tensor scores = rand({7, 3}), target = randint(3, {7}, kInt64);
  check(Accuracy(AccuracyOptions("multiclass").num_classes(3)), scores, target);
  check(AUROC(AUROCOptions("multiclass").num_classes(3).average("none")), scores, target);
  check(R2Score(), scores, scores + rand({7, 3}));
  check(MeanAbsoluteError(), scores, scores + rand({7, 3}));
  Accuracy three(AccuracyOptions("multiclass").num_classes(3)), four(AccuracyOptions("multiclass").num_classes(4));
  CHECK_THAT(error_of([&] { three.merge(four); }), Contains("state 'counts' is (4, 4) and not (4, 3)"));
  CHECK_THAT(error_of([&] { three.merge(MeanAbsoluteError()); }), Contains("cannot merge with MeanAbsoluteError"));
}

TEST_CASE("a metric does not keep its inputs, and autograd does not record it", "[metrics]") {
  Tensor preds = numbers({0.1, 0.9, 0.6}).requires_grad_();
  AUROC auroc("binary");
  MeanSquaredError mse;
  auroc.update(preds, labels({0, 1, 0}));
  mse.update(preds * 1, numbers({0, 1, 1}));
  const Tensor area = auroc.compute(), error = mse.compute();
  {
    const NoGradGuard guard;
    preds.fill_(0.5);
  }
  CHECK(auroc.compute().equal(area));
  CHECK(mse.compute().equal(error));
  CHECK_FALSE(mse.compute().requires_grad());
}

TEST_CASE("MetricCollection names its metrics", "[metrics]") {
  MetricCollection metrics;
  CHECK(metrics.empty());
  metrics.add(MeanSquaredError()).add("rmse", MeanSquaredError(MeanSquaredErrorOptions().squared(false)));
  CHECK(error_of([&] { metrics.add(MeanSquaredError()); }) ==
        "MetricCollection::add: there is a metric 'MeanSquaredError' already; accepted: add(\"another name\", metric)");
  CHECK(error_of([&] { metrics["mse"]; }) ==
        "MetricCollection: there is no metric 'mse'; accepted: MeanSquaredError, rmse");
  metrics.update(numbers({1, 5}), numbers({3, 1}));
  CHECK(metrics.size() == 2);
  CHECK(metrics.names() == std::vector<std::string>{"MeanSquaredError", "rmse"});
  CHECK(metrics.compute().at("MeanSquaredError").item<double>() == 10);
  CHECK(metrics.compute().at("rmse").item<double>() == std::sqrt(10.0));
  metrics.reset();
  CHECK(metrics["rmse"].num_updates() == 0);
}

TEST_CASE("compute adds up ranks without changing their states", "[metrics][ranks]") {
  std::atomic<int> wrong{0};
  distributed::run_ranks(3, [&](int rank) {
    distributed::init_process_group("local");
    SumOfBoth all, alone(SumOfBoth::Options().sync_on_compute(false));
    for (int step = 1; step <= 2; ++step) {
      for (SumOfBoth* metric : {&all, &alone})
        if (rank > 0) metric->update(numbers({double(rank)}), numbers({10}));
      wrong += !all.compute().equal(numbers({23.0 * step, 12}));
      wrong += !all.compute().equal(numbers({23.0 * step, 12}));
      if (rank > 0) wrong += !alone.compute().equal(numbers({(10.0 + rank) * step, 10.0 + rank}));
    }
    const auto pair = distributed::new_group({1, 2});
    SumOfBoth of_pair(SumOfBoth::Options().process_group(pair));
    if (rank == 0) return;
    of_pair.update(numbers({double(rank)}), numbers({0}));
    wrong += !of_pair.compute().equal(numbers({3, 2}));
  });
  CHECK(wrong == 0);
}

TEST_CASE("a metric that has no value throws on every rank, and only the first rank warns", "[metrics][ranks]") {
  std::atomic<int> errors{0};
  const std::string text = stderr_of([&] {
    distributed::run_ranks(3, [&](int rank) {
      distributed::init_process_group("local");
      R2Score r2;
      if (rank == 1) r2.update(numbers({1}), numbers({2}));
      errors += error_of([&] { r2.compute(); }) == "R2Score: there are 1 examples; accepted: two or more";
      AUROC auroc("binary");
      const Tensor target = labels({1, 0});
      if (rank == 1) auroc.update(numbers({0.3, 0.4}), target);
      if (rank == 2) auroc.update(numbers({0.3, 0.4}).to(kFloat32), target);
      errors +=
          error_of([&] { auroc.compute(); }) ==
          "AUROC: state preds is float32 on rank 2 and float64 on a rank before; accepted: one dtype on all ranks";
      Accuracy("binary").compute();
    });
  });
  CHECK(errors == 6);
  CHECK(text == "tandem: warning: Accuracy: compute() was called before update(); there are no batches\n");
}

TEST_CASE("on a GPU, updates do not wait for the device, and compute names wrong labels on all ranks",
          "[metrics][cuda][ranks]") {
  if (!cuda::is_available()) return;
  // A Graph refuses to record code for which the host has to wait.
  struct Opened : Accuracy {
    using Accuracy::Accuracy, Accuracy::batch_states;
  };
  struct OpenedCurve : AUROC {
    using AUROC::AUROC, AUROC::batch_states;
  };
  const Opened accuracy(AccuracyOptions("multiclass").num_classes(3).top_k(2).ignore_index(-1));
  const OpenedCurve auroc(AUROCOptions("multiclass").num_classes(3));
  const Tensor scores = rand({4, 3}, kCUDA), target = labels({0, 1, 2, 1}).to(kCUDA);
  std::vector<Tensor> states;
  Graph graph;
  graph.capture([&] {
    states = accuracy.batch_states(scores, target);
    auroc.batch_states(scores, target);
  });
  graph.replay();
  CHECK(states[0].cpu().equal(accuracy.batch_states(scores.cpu(), target.cpu())[0]));
  CHECK_THAT(error_of([&] { Graph().capture([&] { Accuracy("binary").update(scores, scores > 0.5); }); }),
             Contains("Metric::update"));

  std::atomic<int> errors{0};
  distributed::run_ranks(2, [&](int rank) {
    distributed::init_process_group("local");
    Accuracy metric(AccuracyOptions("multiclass").num_classes(3));
    if (rank == 1) metric.update(labels({0, 1}).to(kCUDA), labels({0, 5}).to(kCUDA));
    errors += error_of([&] { metric.compute(); }) ==
              "Accuracy: target has the label 5; accepted: 0 to 2, because num_classes is 3";
    metric.reset();
    if (rank == 1) metric.update(labels({0, 1}).to(kCUDA), labels({0, 1}).to(kCUDA));
    errors += metric.compute().item<double>() == 1;
  });
  CHECK(errors == 4);
}
