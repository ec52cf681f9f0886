// Comparisons: eq, ne, lt, le, gt, ge, isnan, isinf, isfinite, isclose, isreal, isposinf, isneginf.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

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
