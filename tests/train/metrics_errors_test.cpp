// Tests the errors of metrics: options, shapes, dtypes and labels that they do not accept.
#include <cmath>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/train/metric_inputs.h"

using namespace tandem;
using namespace tandem::metrics;
using test::error_of, test::labels, test::numbers;

TEST_CASE("a metric refuses options that it does not accept", "[metrics]") {
  const auto accuracy = [](const AccuracyOptions& options) { return error_of([&] { Accuracy metric(options); }); };
  CHECK(accuracy(AccuracyOptions("ternary")) ==
        "Accuracy: task is 'ternary'; accepted: binary, multiclass, multilabel");
  CHECK(accuracy(AccuracyOptions("multiclass")) ==
        "Accuracy: num_classes is not set; the task multiclass accepts 2 or more");
  CHECK(accuracy(AccuracyOptions("multilabel").num_labels(1)) ==
        "Accuracy: num_labels is 1; the task multilabel accepts 2 or more");
  CHECK(accuracy(AccuracyOptions("multiclass").num_classes(3).top_k(4)) ==
        "Accuracy: top_k is 4; accepted: 1 to 3 (num_classes)");
  CHECK(accuracy(AccuracyOptions("binary").top_k(2)) == "Accuracy: top_k is 2; accepted: 1 to 1 for the task binary");
  CHECK(accuracy(AccuracyOptions("binary").average("mean")) ==
        "Accuracy: average is 'mean'; accepted: micro, macro, weighted, none");
  CHECK(accuracy(AccuracyOptions("binary").threshold(1.5)) == "Accuracy: threshold is 1.5; accepted: 0 to 1");
  CHECK(accuracy(AccuracyOptions("binary").zero_division(1)) == "Accuracy: zero_division is 1; accepted: 0");
  CHECK(error_of([] { Recall metric(RecallOptions("binary").zero_division(2)); }) ==
        "Recall: zero_division is 2; accepted: 0 and 1");
  CHECK(error_of([] { FBetaScore metric("binary", 0); }) == "FBetaScore: beta is 0; accepted: a positive number");
  CHECK(error_of([] { ConfusionMatrix metric(ConfusionMatrixOptions("binary").normalize("rows")); }) ==
        "ConfusionMatrix: normalize is 'rows'; accepted: none, true, pred, all");
  CHECK(error_of([] { AUROC metric(AUROCOptions("binary").average("micro")); }) ==
        "AUROC: average is 'micro'; accepted: macro, weighted, none");
  CHECK(error_of([] { MeanSquaredError metric(MeanSquaredErrorOptions().num_outputs(0)); }) ==
        "MeanSquaredError: num_outputs is 0; accepted: 1 or more");
  CHECK(error_of([] { R2Score metric(R2ScoreOptions().adjusted(-1)); }) ==
        "R2Score: adjusted is -1; accepted: 0 or more");
  CHECK(error_of([] { R2Score metric(R2ScoreOptions().multioutput("mean")); }) ==
        "R2Score: multioutput is 'mean'; accepted: uniform_average, variance_weighted, raw_values");
}

TEST_CASE("update refuses labels out of range, and the metric stays as it was", "[metrics]") {
  Accuracy accuracy(AccuracyOptions("multiclass").num_classes(4).ignore_index(-1));
  accuracy.update(labels({0, 1, 2}), labels({0, 1, 3}));
  const auto update = [](Metric& metric, const Tensor& preds, const Tensor& target) {
    return error_of([&] { metric.update(preds, target); });
  };
  CHECK(update(accuracy, labels({0, 1}), labels({7, 1})) ==
        "Accuracy: target has the label 7; accepted: 0 to 3, because num_classes is 4, and ignore_index -1");
  CHECK(update(accuracy, labels({0, -2}), labels({0, 1})) ==
        "Accuracy: preds has the label -2; accepted: 0 to 3, because num_classes is 4");
  CHECK(accuracy.compute().item<double>() == 2.0 / 3);
  CHECK(accuracy.num_updates() == 1);
  accuracy.update(labels({-2, 0}), labels({-1, 0}));  // the prediction of an ignored element does not matter
  CHECK(accuracy.compute().item<double>() == 3.0 / 4);

  Accuracy binary("binary");
  CHECK(update(binary, numbers({0.1, 0.9}), numbers({0, 0.3})) ==
        "Accuracy: target has the label 0.3; accepted: 0 to 1");
  CHECK(update(binary, numbers({0.1, 0.9}), numbers({0, NAN})) ==
        "Accuracy: target has the label nan; accepted: 0 to 1");
  CHECK_THAT(update(binary, numbers({0.1, 0.9}), numbers({0, -INFINITY})), Contains("target has the label -1.79"));
  binary.update(numbers({0.1, 0.9, 0.8}), numbers({0, 1, 0}));  // floating targets, as the binary losses take
  CHECK(binary.compute().item<double>() == 2.0 / 3);
  AUROC auroc(AUROCOptions("multiclass").num_classes(3));
  CHECK(update(auroc, rand({2, 3}), labels({0, 3})) ==
        "AUROC: target has the label 3; accepted: 0 to 2, because num_classes is 3");
  Perplexity perplexity;
  CHECK(update(perplexity, rand({1, 2, 5}), labels({0, 5}).view({1, 2})) ==
        "Perplexity: target has the label 5; accepted: 0 to 4, because num_classes is 5");
}

TEST_CASE("update refuses shapes and dtypes that clash", "[metrics]") {
  Accuracy accuracy(AccuracyOptions("multiclass").num_classes(4));
  const auto update = [](Metric& metric, const Tensor& preds, const Tensor& target) {
    return error_of([&] { metric.update(preds, target); });
  };
  CHECK(update(accuracy, rand({2, 3}), labels({0, 1})) ==
        "Accuracy: preds is (2, 3) and target is (2,); accepted: scores (N, 4, ...) with a target (N, ...), because "
        "num_classes is 4");
  CHECK(update(accuracy, labels({0, 1, 2}), labels({0, 1})) ==
        "Accuracy: preds is (3,) and target is (2,); accepted: equal shapes, or scores (N, C, ...) with a target (N, "
        "...)");
  CHECK(update(accuracy, rand({2}), labels({0, 1})) ==
        "Accuracy: preds (2,) has target's shape and is of float32; accepted: integer labels, or scores (N, 4, ...)");
  CHECK(update(accuracy, rand({2, 4}), rand({2})) ==
        "Accuracy: target is of float32; the task multiclass accepts integers");
  CHECK(
      update(accuracy, zeros({2, 4}, kInt64), labels({0, 1})) ==
      "Accuracy: preds (2, 4) has one dimension more than target (2,) and is of int64; accepted: a floating dtype for "
      "scores of the classes");
  CHECK(update(accuracy, rand({4}), zeros({}, kInt64)) ==
        "Accuracy: target is a scalar; accepted: at least one dimension");
  CHECK(update(accuracy, Tensor(), labels({0})) == "Accuracy: preds is an undefined tensor");
  Accuracy top2(AccuracyOptions("multiclass").num_classes(4).top_k(2));
  CHECK(update(top2, labels({0}), labels({0})) ==
        "Accuracy: top_k is 2 and preds are labels (1,); accepted: scores (N, 4, ...)");
  F1Score f1(F1ScoreOptions("multilabel").num_labels(3));
  CHECK(update(f1, rand({2, 2}), zeros({2, 2}, kInt64)) ==
        "F1Score: preds and target are (2, 2); accepted: (N, 3, ...), because num_labels is 3");
  AUROC auroc("binary");
  CHECK(update(auroc, labels({0}), labels({0})) ==
        "AUROC: preds is of int64; accepted: a floating dtype for probabilities or logits");
  MeanSquaredError mse(MeanSquaredErrorOptions().num_outputs(2));
  CHECK(update(mse, rand({3}), rand({3})) ==
        "MeanSquaredError: preds and target are (3,); accepted: (N, 2), because num_outputs is 2");
  MeanAbsoluteError mae;
  CHECK(update(mae, rand({3, 1}), rand({3})) ==
        "MeanAbsoluteError: preds is (3, 1) and target is (3,); accepted: equal shapes");
  R2Score r2;
  CHECK(update(r2, rand({1, 1, 1}), rand({1, 1, 1})) ==
        "R2Score: preds and target are (1, 1, 1); accepted: one or two dimensions");
  r2.update(rand({3, 2}), rand({3, 2}));
  CHECK(update(r2, rand({3}), rand({3})) ==
        "R2Score: batches have 2 and 1 outputs; accepted: preds and target of one number of outputs");
  CHECK(update(*std::make_unique<Perplexity>(), rand({2, 3}), labels({0, 1})) ==
        "Perplexity: preds is (2, 3) and target is (2,); accepted: logits (batch, length, vocabulary) with a target "
        "(batch, length)");
}
