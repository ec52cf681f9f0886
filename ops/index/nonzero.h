// Non-zero elements: nonzero, nonzero_static, nonzero_numpy, argwhere, count_nonzero, is_nonzero. These functions have
// no derivatives.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the positions of the non-zero elements as an int64 tensor (count, dim).
Tensor nonzero(const Tensor& x);
/// argwhere is an alias of nonzero. nonzero_numpy returns the positions as one index vector per dimension.
inline Tensor argwhere(const Tensor& x) { return x.argwhere(); }
inline std::vector<Tensor> nonzero_numpy(const Tensor& x) { return x.nonzero_numpy(); }
/// Returns the first `size` rows of nonzero(x), padded with rows of fill_value if there are fewer. As the result's size
/// does not depend on the values, a graph can record it.
inline Tensor nonzero_static(const Tensor& x, int64_t size, int64_t fill_value = -1) {
  return x.nonzero_static(size, fill_value);
}
/// Returns the number of non-zero elements over the given dimensions, or over all of them, as int64.
inline Tensor count_nonzero(const Tensor& x, IntArrayRef dims = {}) { return x.count_nonzero(dims); }
template <std::same_as<std::optional<int64_t>> Dim> Tensor count_nonzero(const Tensor& x, const Dim& dim) {
  return x.count_nonzero(dim);
}
/// Returns whether the only element of x is not 0. @throws Error unless x has one element
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }

}  // namespace tandem
