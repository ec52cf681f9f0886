// Metrics from the numbers of true and false positives and negatives: Accuracy, Precision, Recall, FBetaScore, F1Score.
#pragma once
#include "tandem/train/metrics/classification_options.h"

namespace tandem::metrics {

/// Options of Accuracy, Precision, Recall, FBetaScore and F1Score, with torchmetrics' names and defaults.
class StatScoresOptions : public ClassificationOptions<StatScoresOptions> {
 public:
  /// @param task  see ClassificationOptions
  StatScoresOptions(std::string task) : ClassificationOptions(std::move(task)) {}
  StatScoresOptions(const char* task) : ClassificationOptions(task) {}
  /// Combination of the scores of classes or labels. "micro": from the counts of all classes together. "macro": their
  /// mean; the task multiclass leaves out classes that occur in neither preds nor target (with top_k > 1, in target).
  /// "weighted": mean weighted by the number of elements of the class in target. "none": one score per class. The task
  /// binary has only one score.
  TANDEM_ARG(std::string, average) = "micro";
  /// Number of highest scores among which the target's class counts as predicted. For the task multiclass only.
  TANDEM_ARG(int64_t, top_k) = 1;
  /// Score above which a label counts as predicted. For the tasks binary and multilabel.
  TANDEM_ARG(double, threshold) = 0.5;
  /// Score, 0 or 1, of a class whose quotient is 0 / 0. Accuracy accepts only 0.
  TANDEM_ARG(double, zero_division) = 0;
};
using AccuracyOptions = StatScoresOptions;
using PrecisionOptions = StatScoresOptions;
using RecallOptions = StatScoresOptions;
using FBetaScoreOptions = StatScoresOptions;
using F1ScoreOptions = StatScoresOptions;

/// Base class of metrics that are computed from the counts of true positives, false positives, true negatives and false
/// negatives of each class or label.
///
/// update() takes a target of integer labels (N, ...), for the task multilabel (N, num_labels, ...), and preds: labels
/// of the same shape or scores. Scores are floating; for the task multiclass their shape is (N, num_classes, ...). For
/// the tasks binary and multilabel, scores are probabilities or, if a score of the batch is outside of [0, 1], logits.
class StatScores : public Metric {
 public:
  /// Options of this metric.
  const StatScoresOptions& options() const { return options_; }

 protected:
  /// @throws Error for options that are missing or not accepted
  StatScores(const std::string& name, StatScoresOptions options);
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  Tensor compute_value(const std::vector<Tensor>& states) const override;
  /// Returns the score from float64 counts, elementwise.
  virtual Tensor score(const Tensor& tp, const Tensor& fp, const Tensor& tn, const Tensor& fn) const = 0;
  /// Whether "macro" leaves out classes that do not occur in target, even if they were predicted.
  virtual bool skips_classes_without_target() const { return options_.top_k() != 1; }

 private:
  StatScoresOptions options_;
};

/// Share of elements whose label was predicted. For the task multiclass, the accuracy of a class is its recall.
class Accuracy : public StatScores {
 public:
  explicit Accuracy(AccuracyOptions options);
  std::string name() const override { return "Accuracy"; }

 protected:
  Tensor score(const Tensor& tp, const Tensor& fp, const Tensor& tn, const Tensor& fn) const override;
};
/// tp / (tp + fp): share of predictions of a class that are right.
class Precision : public StatScores {
 public:
  explicit Precision(PrecisionOptions options) : StatScores("Precision", std::move(options)) {}
  std::string name() const override { return "Precision"; }

 protected:
  Tensor score(const Tensor& tp, const Tensor& fp, const Tensor& tn, const Tensor& fn) const override;
};
/// tp / (tp + fn): share of a class's elements that were predicted.
class Recall : public StatScores {
 public:
  explicit Recall(RecallOptions options) : StatScores("Recall", std::move(options)) {}
  std::string name() const override { return "Recall"; }

 protected:
  Tensor score(const Tensor& tp, const Tensor& fp, const Tensor& tn, const Tensor& fn) const override;
};
/// (1 + beta^2) tp / ((1 + beta^2) tp + beta^2 fn + fp): mean of precision and recall, with recall weighted by beta.
class FBetaScore : public StatScores {
 public:
  /// @throws Error unless beta is positive
  explicit FBetaScore(FBetaScoreOptions options, double beta = 1)
      : FBetaScore("FBetaScore", std::move(options), beta) {}
  std::string name() const override { return "FBetaScore"; }

 protected:
  FBetaScore(const std::string& name, FBetaScoreOptions options, double beta);
  Tensor score(const Tensor& tp, const Tensor& fp, const Tensor& tn, const Tensor& fn) const override;
  bool skips_classes_without_target() const override { return false; }

 private:
  double beta_;
};
/// FBetaScore with beta = 1: the harmonic mean of precision and recall.
class F1Score : public FBetaScore {
 public:
  explicit F1Score(F1ScoreOptions options) : FBetaScore("F1Score", std::move(options), 1) {}
  std::string name() const override { return "F1Score"; }
};

}  // namespace tandem::metrics
