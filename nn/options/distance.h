// Options of distance functions and modules.
#pragma once
#include <cstdint>

#include "tandem/core/option.h"

namespace tandem::nn {

struct CosineSimilarityOptions {
  TANDEM_ARG(int64_t, dim) = 1;    // dimension of the vectors
  TANDEM_ARG(double, eps) = 1e-8;  // lower bound of the norms in the divisor
};
struct PairwiseDistanceOptions {
  TANDEM_ARG(double, p) = 2;          // order p of the norm
  TANDEM_ARG(double, eps) = 1e-6;     // added to each difference
  TANDEM_ARG(bool, keepdim) = false;  // if true, the reduced dimension stays with size 1
};

}  // namespace tandem::nn
