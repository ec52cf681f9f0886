// Logical reductions: all and any, over all elements, one dimension or several.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// all: whether every element is other than 0; any: whether at least one is. Of everything, along one dimension or over
/// several; bool, or uint8 of uint8.
#define TANDEM_DECLARE_ALL_ANY(name)                                                                              \
  inline Tensor name(const Tensor& x) { return x.name(); }                                                        \
  inline Tensor name(const Tensor& x, int64_t dim, detail::Flag keepdim = false) { return x.name(dim, keepdim); } \
  inline Tensor name(const Tensor& x, IntArrayRef dims, detail::Flag keepdim = false) { return x.name(dims, keepdim); }
TANDEM_DECLARE_ALL_ANY(all)
TANDEM_DECLARE_ALL_ANY(any)
#undef TANDEM_DECLARE_ALL_ANY

}  // namespace tandem
