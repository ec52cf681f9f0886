// Unique elements and slices: unique_consecutive, unique_dim, unique_dim_consecutive and _unique2. They have no
// derivatives. A Graph does not record them: the values decide the sizes of the results.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

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

}  // namespace tandem
