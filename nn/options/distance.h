// Options of distances.
#pragma once
#include <cstdint>

#include "tandem/core/option.h"

namespace tandem::nn {

struct CosineSimilarityOptions {
  TANDEM_ARG(int64_t, dim) = 1;    // the dimension along which it works
  TANDEM_ARG(double, eps) = 1e-8;  // keeps the divisor from 0
};
struct PairwiseDistanceOptions {
  TANDEM_ARG(double, p) = 2;          // the p of the norm
  TANDEM_ARG(double, eps) = 1e-6;     // added to each difference
  TANDEM_ARG(bool, keepdim) = false;  // whether the dimension stays, of size 1
};

}  // namespace tandem::nn
