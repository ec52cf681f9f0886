// Comparisons: eq, ne, lt, le, gt, ge, isnan, isinf, isfinite, isclose, allclose, equal, isin, isreal, isposinf,
// isneginf, is_same_size.
#pragma once
#include "tandem/ops/declare_op.h"

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

// core/elementwise_ops.h says what they compute.
#define TANDEM_DECLARE_PREDICATE(name, ...) \
  inline Tensor name(const Tensor& x) { return x.name(); }
TANDEM_PREDICATE_OPS(TANDEM_DECLARE_PREDICATE)
#undef TANDEM_DECLARE_PREDICATE
TANDEM_ORDER_OPS(TANDEM_DECLARE_BINARY_OP)
// Other spellings.
TANDEM_ORDER_ALIASES(TANDEM_DECLARE_BINARY_ALIAS)
/// Whether x is the positive infinity, the negative one, a real number (all of them are).
inline Tensor isposinf(const Tensor& x) { return x.isposinf(); }
inline Tensor isneginf(const Tensor& x) { return x.isneginf(); }
inline Tensor isreal(const Tensor& x) { return x.isreal(); }
/// Whether |a - b| <= atol + rtol |b|, elementwise; both of one dtype
inline Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return a.isclose(b, rtol, atol, equal_nan);
}

}  // namespace tandem
