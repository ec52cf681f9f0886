// LibTorch's functions for complex numbers and for kinds of tensors that Tandem does not have: conj, conj_physical,
// resolve_conj, real, is_complex, is_sparse, is_quantized, ...
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// LibTorch's functions of complex numbers. Every number here is real, so they return x itself.
inline Tensor conj(const Tensor& x) { return x; }
inline Tensor conj_physical(const Tensor& x) { return x; }
inline Tensor& conj_physical_(Tensor& x) { return x; }
inline Tensor resolve_conj(const Tensor& x) { return x; }
inline Tensor resolve_neg(const Tensor& x) { return x; }
inline Tensor real(const Tensor& x) { return x; }
/// Tests for kinds of tensors that Tandem does not have: always false.
#define TANDEM_DECLARE_UNSUPPORTED(name) \
  inline bool name(const Tensor& x) { return x.name(); }
TANDEM_UNSUPPORTED_KIND_PREDICATES(TANDEM_DECLARE_UNSUPPORTED)
#undef TANDEM_DECLARE_UNSUPPORTED

}  // namespace tandem
