// Comparisons: eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, isnan, isinf, isfinite, isclose, isreal,
// isposinf, isneginf.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// core/elementwise_ops.h says what they compute.
#define TANDEM_DECLARE_PREDICATE(name, ...) \
  inline Tensor name(const Tensor& x) { return x.name(); }
TANDEM_PREDICATE_OPS(TANDEM_DECLARE_PREDICATE)
#undef TANDEM_DECLARE_PREDICATE
#define TANDEM_DECLARE_COMPARISON(name, ...)                                 \
  inline Tensor name(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor name(const Tensor& a, const Scalar& b) { return a.name(b); } \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b);         \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b);
TANDEM_COMPARE_OPS(TANDEM_DECLARE_COMPARISON)
#undef TANDEM_DECLARE_COMPARISON
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
