// Distances between vectors: functions in namespace functional, and modules. Their options are in
// nn/options/distance.h.
#pragma once
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/options/distance.h"
#include "tandem/ops/nn/distance.h"

namespace tandem::nn::functional {

using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;

/// Returns the p-norms of the differences of all pairs of rows of x (N, D): (N * (N - 1) / 2), in the order (0, 1), (0,
/// 2), ...
inline Tensor pdist(const Tensor& x, double p = 2.0) { return tandem::pdist(x, p); }

inline Tensor cosine_similarity(const Tensor& a, const Tensor& b, const CosineSimilarityOptions& o = {}) {
  return tandem::cosine_similarity(a, b, o.dim(), o.eps());
}
inline Tensor pairwise_distance(const Tensor& a, const Tensor& b, const PairwiseDistanceOptions& o = {}) {
  return tandem::pairwise_distance(a, b, o.p(), o.eps(), o.keepdim());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

/// Cosine, from -1 to 1, of the angle between the vectors of a and b along a dimension. The result lacks this
/// dimension.
TANDEM_TWO_INPUT_MODULE(CosineSimilarity, cosine_similarity);
/// Norm of the difference between the vectors of a and b along the last dimension. The result lacks this dimension, or
/// keeps it with size 1 if keepdim is true.
TANDEM_TWO_INPUT_MODULE(PairwiseDistance, pairwise_distance);

}  // namespace tandem::nn
