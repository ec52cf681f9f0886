// A softmax over many classes, cut into clusters by how often they occur.
#pragma once
#include "tandem/nn/containers/containers.h"
#include "tandem/nn/linear.h"

namespace tandem::nn {

/// What AdaptiveLogSoftmaxWithLoss gives: the log probability of each target, and the mean of their negatives. As in
/// LibTorch that is a number, so a program that trains writes `(-output).mean().backward()`.
struct ASMoutput {
  ASMoutput(Tensor output, double loss) : output(std::move(output)), loss(loss) {}
  /// (N): the log probability of each target.
  Tensor output;
  /// The mean of -output.
  double loss;
};

/// cutoffs: where the clusters behind the most frequent classes begin, ascending, from 1 to n_classes - 1. Cluster i
/// works on in_features / div_value^(i + 1) features.
struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TANDEM_ARG(int64_t, in_features);           // length of an input
  TANDEM_ARG(int64_t, n_classes);             // classes in all
  TANDEM_ARG(std::vector<int64_t>, cutoffs);  // where each cluster of classes begins
  TANDEM_ARG(double, div_value) = 4;          // each cluster has so many times fewer features than the one before
  TANDEM_ARG(bool, head_bias) = false;        // whether the head has a bias
};

/// An approximation of a large softmax (Grave et al. 2017, arXiv:1609.04309): `head` knows the first classes and one
/// entry for each cluster, `tail` the classes of each. Classes are ordered by frequency, the most frequent first.
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes, std::vector<int64_t> cutoffs)
      : AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(const AdaptiveLogSoftmaxWithLossOptions& o) : options(o) { reset(); }
  void reset() override;
  /// Those of all its Linear modules.
  void reset_parameters();
  /// x (N, in_features) and target (N) of int64, or x (in_features) and one target.
  /// @throws Error unless each target is from 0 to n_classes - 1
  ASMoutput forward(const Tensor& x, const Tensor& target);
  /// (N, n_classes): the log probabilities of all classes.
  Tensor log_prob(const Tensor& x);
  /// (N): the most probable class of each row.
  Tensor predict(const Tensor& x);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;  // n_classes is the last
  /// Classes that head knows by themselves; clusters of the others; what head gives, which is both together.
  int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  /// in_features to head_size.
  Linear head{nullptr};
  /// Of each cluster, a projection and a Linear to its classes.
  ModuleList tail{nullptr};
};
TANDEM_LIBRARY_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace tandem::nn
