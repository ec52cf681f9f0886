// AdaptiveLogSoftmaxWithLoss: a softmax over many classes, which are split into clusters by frequency.
#pragma once
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/linear.h"

namespace tandem::nn {

/// Result of AdaptiveLogSoftmaxWithLoss. As in LibTorch, `loss` is a plain number without a gradient, so a training
/// program calls `(-output).mean().backward()`.
struct ASMoutput {
  ASMoutput(Tensor output, double loss) : output(std::move(output)), loss(loss) {}
  /// (N): log probability of each target.
  Tensor output;
  /// Mean of -output.
  double loss;
};

/// cutoffs: first class of each cluster, ascending, from 1 to n_classes - 1. Classes below the first cutoff are in no
/// cluster. Cluster i projects its input to in_features / div_value^(i + 1) features.
struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TANDEM_ARG(int64_t, in_features);           // number of input features
  TANDEM_ARG(int64_t, n_classes);             // number of classes
  TANDEM_ARG(std::vector<int64_t>, cutoffs);  // first class of each cluster
  TANDEM_ARG(double, div_value) = 4;          // each cluster has 1 / div_value times the features of the previous one
  TANDEM_ARG(bool, head_bias) = false;        // whether the head has a bias
};

/// Approximates a large softmax (Grave et al. 2017, arXiv:1609.04309). `head` scores the most frequent classes and each
/// cluster of rare classes; `tail` scores the classes within each cluster. Classes must be numbered by frequency, the
/// most frequent first.
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(const AdaptiveLogSoftmaxWithLossOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Resets the parameters of all Linear modules.
  void reset_parameters();
  /// Returns the log probabilities of the targets, and the loss. x (N, in_features) with int64 target (N), or x
  /// (in_features) with a scalar target. @throws Error unless each target is from 0 to n_classes - 1
  ASMoutput forward(const Tensor& x, const Tensor& target);
  /// Returns (N, n_classes): the log probabilities of all classes, for x (N, in_features).
  Tensor log_prob(const Tensor& x);
  /// Returns (N): the most probable class of each row of x (N, in_features).
  Tensor predict(const Tensor& x);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;  // options.cutoffs(), with n_classes appended
  /// shortlist_size: number of classes outside all clusters. head_size: number of outputs of `head`, shortlist_size +
  /// n_clusters.
  int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  /// Maps in_features to head_size.
  Linear head{nullptr};
  /// One Sequential per cluster: a projection and a Linear to the cluster's classes.
  ModuleList tail{nullptr};
};
TANDEM_LIBRARY_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace tandem::nn
