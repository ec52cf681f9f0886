// Comparisons: eq, ne, lt, le, gt, ge, isnan, isinf, isfinite, isclose, allclose, equal, isin, isreal, isposinf,
// isneginf, is_same_size.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

/// Returns, for each element, whether test_elements contain it, or, with `invert`, whether they do not. Dtypes
/// promote. assume_unique is ignored.
/// @throws Error for bool
Tensor isin(const Tensor& elements, const Tensor& test_elements, detail::Flag assume_unique = false,
            detail::Flag invert = false);
Tensor isin(const Tensor& elements, const Scalar& test_element, detail::Flag assume_unique = false,
            detail::Flag invert = false);
Tensor isin(const Scalar& element, const Tensor& test_elements, detail::Flag assume_unique = false,
            detail::Flag invert = false);

/// Returns whether |a - b| <= atol + rtol |b| for all elements of the broadcast operands. NaNs are close to each other
/// only with equal_nan.
/// @throws Error if the dtypes differ, or the sizes do not broadcast
inline bool allclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) {
  return a.allclose(b, rtol, atol, equal_nan);
}
/// Returns whether both tensors have the same sizes and elements. A NaN is not equal to anything.
inline bool equal(const Tensor& a, const Tensor& b) { return a.equal(b); }

// Functions that call the methods of the same name.

inline bool is_same_size(const Tensor& x, const Tensor& other) { return x.is_same_size(other); }

// core/elementwise_ops.h says what each function computes.
#define TANDEM_DECLARE_PREDICATE(name, ...) \
  inline Tensor name(const Tensor& x) { return x.name(); }
TANDEM_PREDICATE_OPS(TANDEM_DECLARE_PREDICATE)
#undef TANDEM_DECLARE_PREDICATE
TANDEM_COMPARISON_OPS(TANDEM_DECLARE_BINARY_OP)
// Aliases.
TANDEM_COMPARISON_ALIASES(TANDEM_DECLARE_BINARY_ALIAS)
/// Elementwise tests: whether x is positive infinity, negative infinity, or a real number (always true).
inline Tensor isposinf(const Tensor& x) { return x.isposinf(); }
inline Tensor isneginf(const Tensor& x) { return x.isneginf(); }
inline Tensor isreal(const Tensor& x) { return x.isreal(); }
/// Returns whether |a - b| <= atol + rtol |b|, elementwise. NaNs are close to each other only with equal_nan. a and b
/// must have one dtype.
inline Tensor isclose(const Tensor& a, const Tensor& b, double rtol = 1e-5, double atol = 1e-8,
                      bool equal_nan = false) {
  return a.isclose(b, rtol, atol, equal_nan);
}

}  // namespace tandem
