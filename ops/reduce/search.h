// Searching in order, and counting: none of these has a derivative. Those whose result's size the values decide are
// refused while a Graph records.
#pragma once
#include <optional>
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

/// The positions of what is not 0, as nonzero gives them; nonzero_numpy: a vector for each dimension.
inline Tensor argwhere(const Tensor& x) { return x.argwhere(); }
inline std::vector<Tensor> nonzero_numpy(const Tensor& x) { return x.nonzero_numpy(); }
/// The first `size` rows of nonzero(x); where there are fewer, rows of fill_value follow. A Graph may record it.
inline Tensor nonzero_static(const Tensor& x, int64_t size, int64_t fill_value = -1) {
  return x.nonzero_static(size, fill_value);
}

/// Where each value would be put into a sequence that ascends along its last dimension: before what is not less than
/// it, or with `right` (side "right") behind what is not more. A sequence of more than one dimension has a row for each
/// row of values. `sorter`, if defined, is the order that sorts the sequence. int64, or int32 where that is asked for;
/// of a NaN the sequence's length. dtypes promote.
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, detail::Flag out_int32 = false,
                    detail::Flag right = false, const std::optional<std::string>& side = {}, const Tensor& sorter = {});
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, detail::Flag out_int32 = false,
                    detail::Flag right = false, const std::optional<std::string>& side = {}, const Tensor& sorter = {});
/// searchsorted in boundaries of one dimension, which ascend: the number of the interval that each value falls into.
Tensor bucketize(const Tensor& values, const Tensor& boundaries, detail::Flag out_int32 = false,
                 detail::Flag right = false);
Tensor bucketize(const Scalar& value, const Tensor& boundaries, detail::Flag out_int32 = false,
                 detail::Flag right = false);

/// (values, where each element is among them, how often each is there) of equal elements that follow each other, or of
/// slices along dim that do; what was not asked for has no elements. A NaN is equal to nothing.
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, detail::Flag return_inverse = false,
                                                      detail::Flag return_counts = false,
                                                      std::optional<int64_t> dim = {});
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& x, int64_t dim,
                                                          detail::Flag return_inverse = false,
                                                          detail::Flag return_counts = false);
/// unique_consecutive of all elements, and of all slices along dim, which come sorted whether or not that is asked for.
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, detail::Flag sorted = true,
                                            detail::Flag return_inverse = false, detail::Flag return_counts = false);
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, detail::Flag sorted = true,
                                              detail::Flag return_inverse = false, detail::Flag return_counts = false);

/// Whether each element is among the others, or with `invert` is not; dtypes promote. It may be said that neither holds
/// an element twice, which changes nothing. @throws Error for bool
Tensor isin(const Tensor& elements, const Tensor& test_elements, detail::Flag assume_unique = false,
            detail::Flag invert = false);
Tensor isin(const Tensor& elements, const Scalar& test_element, detail::Flag assume_unique = false,
            detail::Flag invert = false);
Tensor isin(const Scalar& element, const Tensor& test_elements, detail::Flag assume_unique = false,
            detail::Flag invert = false);

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
