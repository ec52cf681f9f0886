// Scaled dot-product attention for float32 and float64, computed block by block. The attention weights of one block
// stay in the cache (CPU) or in registers and shared memory (CUDA), so the full weight matrix is never stored.
//
// All tensors have the same leading dimensions, along which the inputs may be expanded. The last dimension is
// contiguous. Shapes: q (..., L, E), k (..., S, E), v (..., S, V), out (..., L, V), and lse (..., L), which is
// contiguous. mask is undefined or (..., L, S), bool or of q's dtype, with any strides. dq, dk and dv are dense. If
// `causal`, query i attends to keys 0 to i only. No size is 0.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels::cuda {
/// Returns whether the CUDA kernels below support these tensors. They need four dimensions, E and V of at most 128, and
/// a GPU with enough shared memory.
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

/// Computes out = softmax(scale q k^T + mask) v, and lse = ln sum e^(scale q k^T + mask) for each query. If the mask
/// hides all keys from a query, its row of out is 0 and its lse is infinity.
TANDEM_KERNEL(void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                             double scale, Tensor& out, Tensor& lse))
/// Computes dq, dk and dv, the gradients of q, k and v, from dout, the gradient of out. Computes the attention weights
/// again from q, k, mask and lse.
TANDEM_KERNEL(void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& mask, const Tensor& out, const Tensor& lse, bool causal,
                                      double scale, Tensor& dq, Tensor& dk, Tensor& dv))
