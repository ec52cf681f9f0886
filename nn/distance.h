// Distances between vectors: functions of namespace functional and modules. nn/options/distance.h has their options.
#pragma once
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/options/distance.h"
#include "tandem/ops/nn/distance.h"

namespace tandem::nn::functional {

using CosineSimilarityFuncOptions = CosineSimilarityOptions;
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;

/// The p-norms of the differences of all pairs of rows of x (N, D): (N (N - 1) / 2), in the order (0, 1), (0, 2), ...
inline Tensor pdist(const Tensor& x, double p = 2.0) { return tandem::pdist(x, p); }

inline Tensor cosine_similarity(const Tensor& a, const Tensor& b, const CosineSimilarityOptions& o = {}) {
  return tandem::cosine_similarity(a, b, o.dim(), o.eps());
}
inline Tensor pairwise_distance(const Tensor& a, const Tensor& b, const PairwiseDistanceOptions& o = {}) {
  return tandem::pairwise_distance(a, b, o.p(), o.eps(), o.keepdim());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

/// Of the vectors of a and b along a dimension, from -1 to 1, without the dimension.
TANDEM_TWO_INPUT_MODULE(CosineSimilarity, cosine_similarity);
/// Of the vectors of a and b along the last dimension, without it, or with it as 1 (keepdim).
TANDEM_TWO_INPUT_MODULE(PairwiseDistance, pairwise_distance);

}  // namespace tandem::nn
