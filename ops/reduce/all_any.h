// Logical reductions: all and any, over all elements or some dimensions.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// all returns whether every element is non-zero, any whether at least one is: over all elements, along one dimension,
/// or over several (an empty list reduces nothing). The result is bool, or uint8 for an x of uint8.
#define TANDEM_DECLARE_ALL_ANY(name)                                                                              \
  inline Tensor name(const Tensor& x) { return x.name(); }                                                        \
  inline Tensor name(const Tensor& x, int64_t dim, detail::Flag keepdim = false) { return x.name(dim, keepdim); } \
  inline Tensor name(const Tensor& x, IntArrayRef dims, detail::Flag keepdim = false) { return x.name(dims, keepdim); }
TANDEM_DECLARE_ALL_ANY(all)
TANDEM_DECLARE_ALL_ANY(any)
#undef TANDEM_DECLARE_ALL_ANY

}  // namespace tandem
