// Counting values: bincount, histc and histogram. They have no derivatives.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// How often each number from 0 on is in a vector of integers, or the sum of its weights (float32 of float32, else
/// float64); at least minlength of them. @throws Error for numbers below 0
inline Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0) {
  return x.bincount(weights, minlength);
}
/// How many elements lie in each of `bins` parts of [min, max], in x's dtype; others are left out. Where min and max
/// are equal they are x's. @throws Error for integers, and where x's are not finite
inline Tensor histc(const Tensor& x, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) {
  return x.histc(bins, min, max);
}
/// (counts, edges): how many elements, or how much of weight, lies between neighbours of the edges given, or in `bins`
/// equal parts of a range, x's unless it is given. With `density` the counts are divided by their sum and by the width.
inline std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& bins, const Tensor& weight = {},
                                            detail::Flag density = false) {
  return x.histogram(bins, weight, density);
}
inline std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins = 100,
                                            std::optional<ArrayRef<double>> range = {}, const Tensor& weight = {},
                                            detail::Flag density = false) {
  return x.histogram(bins, range, weight, density);
}

}  // namespace tandem
