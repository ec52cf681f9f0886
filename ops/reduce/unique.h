// Unique elements and slices: unique_consecutive, unique_dim, unique_dim_consecutive and _unique2. They have no
// derivatives. A Graph cannot record them, because the sizes of the results depend on the values.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns (values, inverse, counts). values has one element for each run of equal adjacent elements, or, with dim, one
/// slice for each run of equal slices along dim. inverse is the index in values of each element of x, and counts is the
/// length of each run; they are empty unless requested. NaNs are not equal to each other.
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, detail::Flag return_inverse = false,
                                                      detail::Flag return_counts = false,
                                                      std::optional<int64_t> dim = {});
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& x, int64_t dim,
                                                          detail::Flag return_inverse = false,
                                                          detail::Flag return_counts = false);
/// Like unique_consecutive, but return all distinct elements, or all distinct slices along dim. values are always
/// sorted, whether or not `sorted` is set.
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, detail::Flag sorted = true,
                                            detail::Flag return_inverse = false, detail::Flag return_counts = false);
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, detail::Flag sorted = true,
                                              detail::Flag return_inverse = false, detail::Flag return_counts = false);

}  // namespace tandem
