// Attention block by block, so that the weights of a block stay in the cache, or in registers and shared memory, and
// those of all are never in memory; for float32 and float64.
//
// All tensors have the same leading dimensions, in which inputs may be expanded; the elements of a row lie side by
// side. q (..., L, E), k (..., S, E), v (..., S, V), out (..., L, V), lse (..., L) contiguous; mask undefined or (...,
// L, S), bool or of q's dtype, with any strides; dq, dk and dv have no gaps. With `causal` query i sees keys 0 to i.
// None of the sizes is 0.
#pragma once
#include "tandem/kernels/declare.h"

namespace tandem::kernels::cuda {
/// Whether CUDA has the kernels below for these: tensors of four dimensions, E and V of at most 128, a GPU with as much
/// shared memory.
#if defined(TANDEM_HAS_CUDA) && TANDEM_HAS_CUDA
bool attention_serves(const Tensor& q, const Tensor& k, const Tensor& v);
#else
inline bool attention_serves(const Tensor&, const Tensor&, const Tensor&) { return false; }
#endif
}  // namespace tandem::kernels::cuda

namespace tandem::kernels {
/// True if q's device has the kernels below for tensors with these sizes and dtypes.
inline bool attention_serves(const Tensor& q, const Tensor& k, const Tensor& v) {
  return q.is_cpu() || cuda::attention_serves(q, k, v);
}
/// Whether the kernels below take t as it lies.
inline bool attention_takes(const Tensor& t) {
  return (t.stride(-1) == 1 || t.size(-1) == 1) && (t.stride(-2) >= t.size(-1) || t.size(-2) == 1);
}
}  // namespace tandem::kernels

/// out = softmax(q k^T scale + mask) v, and in lse, for each query, ln sum e^(q k^T scale + mask). A query that the
/// mask hides all keys from gets zeros, and an lse of infinity.
TANDEM_KERNEL(void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal,
                             double scale, Tensor& out, Tensor& lse))
/// The gradients of q, k and v from that of out, which compute the weights anew.
TANDEM_KERNEL(void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v,
                                      const Tensor& mask, const Tensor& out, const Tensor& lse, bool causal,
                                      double scale, Tensor& dq, Tensor& dk, Tensor& dv))
