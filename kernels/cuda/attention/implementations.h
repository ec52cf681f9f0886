// The implementations of attention on GPUs. kernels/attention.h documents the arguments of the kernels.
#pragma once
#include <span>

#include "tandem/core/tensor.h"
#include "tandem/kernels/implementation.h"

namespace tandem::kernels::cuda {

struct AttentionProblem {
  const Tensor &q, &k, &v;
};
struct AttentionKernels {
  void (*forward)(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
                  double dropout_p, const Tensor& random, Tensor& out, Tensor& lse);
  void (*backward)(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                   const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                   const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv);
};
std::span<const Implementation<const AttentionKernels*, AttentionProblem>> attention_implementations();

/// float16 and bfloat16, on tensor cores: half_forward.cu and half_backward.cu
bool supports_half_attention(const AttentionProblem& problem);
void half_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
                    double dropout_p, const Tensor& random, Tensor& out, Tensor& lse);
void half_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                             const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                             const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv);

/// float32 and float64: forward.cu and backward.cu
bool supports_full_attention(const AttentionProblem& problem);
void full_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
                    double dropout_p, const Tensor& random, Tensor& out, Tensor& lse);
void full_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                             const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                             const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv);

}  // namespace tandem::kernels::cuda
