// Attention block by block: the weights of a block stay in the cache, or in registers and shared memory, and the full
// weight matrix is never in memory. For float32 and float64.
//
// All tensors have the same leading dimensions; inputs may be expanded in them. The last dimension is contiguous. q
// (..., L, E), k (..., S, E), v (..., S, V), out (..., L, V), lse (..., L) contiguous; mask undefined or (..., L, S),
// bool or of q's dtype, with any strides; dq, dk and dv are dense. With `causal`, query i sees keys 0 to i. No size is
// 0.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels::cuda {
/// Returns whether CUDA has the kernels below for these tensors: four dimensions, E and V of at most 128, and a GPU
/// with enough shared memory.
#if defined(TANDEM_HAS_CUDA) && TANDEM_HAS_CUDA
bool attention_serves(const Tensor& q, const Tensor& k, const Tensor& v);
#else
inline bool attention_serves(const Tensor&, const Tensor&, const Tensor&) { return false; }
#endif
}  // namespace tandem::kernels::cuda

namespace tandem::kernels {
/// Returns whether q's device has the kernels below for these sizes and dtypes.
inline bool attention_serves(const Tensor& q, const Tensor& k, const Tensor& v) {
  return q.is_cpu() || cuda::attention_serves(q, k, v);
}
/// Returns whether the kernels below accept t's strides; otherwise t has to be made contiguous first.
inline bool attention_takes(const Tensor& t) {
  return (t.stride(-1) == 1 || t.size(-1) == 1) && (t.stride(-2) >= t.size(-1) || t.size(-2) == 1);
}
}  // namespace tandem::kernels

/// out = softmax(q k^T scale + mask) v, and for each query lse = ln sum e^(q k^T scale + mask). If the mask hides all
/// keys from a query, its row of out is 0 and its lse is infinity.
TANDEM_KERNEL(void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                             double scale, Tensor& out, Tensor& lse))
/// Computes the gradients of q, k and v from dout, the gradient of out. Recomputes the weights.
TANDEM_KERNEL(void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& mask, const Tensor& out, const Tensor& lse, bool causal,
                                      double scale, Tensor& dq, Tensor& dk, Tensor& dv))
