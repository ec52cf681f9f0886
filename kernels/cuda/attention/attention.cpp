// Chooses the implementation of attention by the operands.
#include "tandem/kernels/attention.h"

#include <algorithm>

#include "tandem/kernels/cuda/attention/implementations.h"

namespace tandem::kernels::cuda {
namespace {

constexpr AttentionKernels kHalfKernels{half_attention, half_attention_backward},
    kFullKernels{full_attention, full_attention_backward};
constexpr Implementation<const AttentionKernels*, AttentionProblem> kAttentionImplementations[] = {
    {"halves on tensor cores", supports_half_attention, [](const AttentionProblem&) { return &kHalfKernels; }},
    {"float32 and float64", supports_full_attention, [](const AttentionProblem&) { return &kFullKernels; }},
};

}  // namespace

std::span<const Implementation<const AttentionKernels*, AttentionProblem>> attention_implementations() {
  return kAttentionImplementations;
}

bool supports_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  constexpr int64_t kMaxSize = 1 << 30;
  if (q.dim() != 4 || std::max(q.size(3), v.size(3)) > 128 || q.size(0) * q.size(1) > kMaxSize ||
      q.size(2) > kMaxSize || k.size(2) > kMaxSize)
    return false;
  return std::any_of(std::begin(kAttentionImplementations), std::end(kAttentionImplementations), [&](const auto& each) {
    return each.supports({q, k, v});
  });
}

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
               double dropout_p, const Tensor& random, Tensor& out, Tensor& lse) {
  run_first_supported<kAttentionImplementations>(AttentionProblem{q, k, v})
      ->forward(q, k, v, mask, causal, scale, dropout_p, random, out, lse);
}
void attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                        const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                        const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv) {
  run_first_supported<kAttentionImplementations>(AttentionProblem{q, k, v})
      ->backward(dout, q, k, v, mask, out, lse, causal, scale, dropout_p, random, dq, dk, dv);
}

}  // namespace tandem::kernels::cuda
