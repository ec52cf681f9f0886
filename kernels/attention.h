// Scaled dot-product attention, computed block by block. The attention weights of one block stay in the cache (CPU) or
// in registers and shared memory (CUDA), so the full weight matrix is never stored.
//
// All tensors have the same leading dimensions, along which the inputs may be expanded. The last dimension is
// contiguous. Shapes: q (..., L, E), k (..., S, E), v (..., S, V), out (..., L, V), and lse (..., L), which is
// contiguous, float32 if q is of a half type, and otherwise of q's dtype. mask is undefined or (..., L, S), with any
// strides, bool, of q's dtype or, if q is of a half type, float32. dq, dk and dv are dense. If `causal`, query i
// attends to keys 0 to i only. No size is 0. Half types are computed in float32 and rounded once. On CPUs that multiply
// bfloat16, large products of bfloat16 have bfloat16 factors: the weights, and their gradients, are rounded first. On
// GPUs, all products of half types have factors of that type. Rounding changes each weight by at most u times itself,
// where u is 2^-11 for float16 and 2^-8 for bfloat16, so that out changes by at most u times the sum of weights times
// absolute values.
//
// Dropout drops each weight with probability dropout_p < 1 and divides the others by 1 - dropout_p. Weight i of the
// contiguous (..., L, S) is kept if random number i, uniform in [0, 1), is less than 1 - dropout_p: bernoulli() in
// kernels/fill.h draws the same mask. Philox generates the numbers from `random` (int64 {seed, stream, block}, on q's
// device), which is undefined if dropout_p is 0. The mask is never stored; backward draws it again.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels::cuda {
/// Returns whether the CUDA kernels below support these tensors. They need four dimensions, E and V of at most 128, a
/// GPU with enough shared memory and, for half types, compute capability 8.0 or later.
#if defined(TANDEM_HAS_CUDA) && TANDEM_HAS_CUDA
bool supports_attention(const Tensor& q, const Tensor& k, const Tensor& v);
#else
inline bool supports_attention(const Tensor&, const Tensor&, const Tensor&) { return false; }
#endif
}  // namespace tandem::kernels::cuda

namespace tandem::kernels {
/// Returns whether the kernels below support these tensors on q's device.
inline bool supports_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return q.is_cpu() || cuda::supports_attention(q, k, v);
}
/// Returns whether the kernels below accept t's strides; otherwise t has to be made contiguous first.
inline bool has_attention_strides(const Tensor& t) {
  return (t.stride(-1) == 1 || t.size(-1) == 1) && (t.stride(-2) >= t.size(-1) || t.size(-2) == 1);
}
}  // namespace tandem::kernels

/// Computes out = dropout(softmax(scale q k^T + mask)) v, and lse = ln sum e^(scale q k^T + mask) for each query. If
/// the mask hides all keys from a query, its row of out is 0 and its lse is infinity.
TANDEM_DECLARE_KERNEL(void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                                     double scale, double dropout_p, const Tensor& random, Tensor& out, Tensor& lse))
/// Computes dq, dk and dv, the gradients of q, k and v, from dout, the gradient of out. Computes the attention weights
/// again from q, k, mask and lse.
TANDEM_DECLARE_KERNEL(void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                              const Tensor& mask, const Tensor& out, const Tensor& lse, bool causal,
                                              double scale, double dropout_p, const Tensor& random, Tensor& dq,
                                              Tensor& dk, Tensor& dv))
