// Counting values: bincount, histc and histogram. They have no derivatives.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Counts how often each number 0, 1, ... occurs in a vector of integers. If weights are given, sums them instead
/// (float32 for float32 weights, otherwise float64). The result has at least minlength elements. @throws Error for
/// negative numbers
inline Tensor bincount(const Tensor& x, const Tensor& weights = {}, int64_t minlength = 0) {
  return x.bincount(weights, minlength);
}
/// Counts the elements in each of `bins` equal parts of [min, max], in x's dtype. Elements outside are ignored. If min
/// and max are equal, the range of x is used. @throws Error for integers, and if the range of x is used and not finite
inline Tensor histc(const Tensor& x, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) {
  return x.histc(bins, min, max);
}
/// Returns (counts, edges): the number of elements, or the sum of their weights, between adjacent edges. Edges are
/// given, or divide `range` (default: the range of x) into `bins` equal parts. If `density`, counts are divided by
/// their sum and by the widths of the bins.
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
