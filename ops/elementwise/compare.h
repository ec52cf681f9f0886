// Comparisons of tensors: isin, allclose and equal.
// Predicates of a tensor: is_nonzero, is_same_size.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Whether each element is among the others, or with `invert` is not; dtypes promote. It may be said that neither holds
/// an element twice, which changes nothing. @throws Error for bool
Tensor isin(const Tensor& elements, const Tensor& test_elements, detail::Flag assume_unique = false,
            detail::Flag invert = false);
Tensor isin(const Tensor& elements, const Scalar& test_element, detail::Flag assume_unique = false,
            detail::Flag invert = false);
Tensor isin(const Scalar& element, const Tensor& test_elements, detail::Flag assume_unique = false,
            detail::Flag invert = false);

/// Whether |a - b| <= atol + rtol |b| everywhere; false where the sizes differ. NaNs differ unless equal_nan.
/// @throws Error where the dtypes differ, or the sizes do not broadcast
inline bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) {
  return a.allclose(b, rtol, atol, equal_nan);
}
/// Whether both have the same sizes and elements. A NaN is equal to nothing.
inline bool equal(const Tensor& a, const Tensor& b) { return a.equal(b); }

// Tensor's methods of these names.

inline bool is_same_size(const Tensor& x, const Tensor& other) { return x.is_same_size(other); }
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }

}  // namespace tandem
