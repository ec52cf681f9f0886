// Modules of distances between vectors.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module.h"

namespace tandem::nn {

/// Of the vectors of a and b along a dimension.
class CosineSimilarityImpl : public Cloneable<CosineSimilarityImpl> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& o = {}) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// From -1 to 1, without the dimension.
  Tensor forward(const Tensor& a, const Tensor& b) { return functional::cosine_similarity(a, b, options); }
  CosineSimilarityOptions options;
};
TANDEM_LIBRARY_MODULE(CosineSimilarity);
/// Of the vectors of a and b along the last dimension.
class PairwiseDistanceImpl : public Cloneable<PairwiseDistanceImpl> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& o = {}) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// Without the last dimension, or with it as 1 (keepdim).
  Tensor forward(const Tensor& a, const Tensor& b) { return functional::pairwise_distance(a, b, options); }
  PairwiseDistanceOptions options;
};
TANDEM_LIBRARY_MODULE(PairwiseDistance);

}  // namespace tandem::nn
