// Modules of distances between vectors.
#pragma once
#include "tandem/nn/functional.h"
#include "tandem/nn/module/simple_module.h"

namespace tandem::nn {

/// Of the vectors of a and b along a dimension, from -1 to 1, without the dimension.
TANDEM_TWO_INPUT_MODULE(CosineSimilarity, cosine_similarity);
/// Of the vectors of a and b along the last dimension, without it, or with it as 1 (keepdim).
TANDEM_TWO_INPUT_MODULE(PairwiseDistance, pairwise_distance);

}  // namespace tandem::nn
