// Kernel that computes delta[query], the sum over columns of out * dout, for the gradients of attention.
#pragma once
#include "tandem/kernels/cuda/attention/operands.cuh"
#include "tandem/kernels/cuda/reduce.cuh"

namespace tandem::kernels::cuda {

/// One warp computes the sum of each query.
template <class T>
__global__ void attention_delta_kernel(HeadRows<const T> out, HeadRows<const T> dout, OpMath<T>* delta,
                                       AttentionShape shape) {
  using C = OpMath<T>;
  const int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row >= int64_t(shape.matrices) * shape.l) return;
  const int64_t matrix = quotient(row, shape.l), query = remainder(row, shape.l);
  const int64_t b = quotient(matrix, shape.heads), h = remainder(matrix, shape.heads);
  const T *const x = out.of(b, h) + query * out.row_stride, *const dx = dout.of(b, h) + query * dout.row_stride;
  C sum = C(0);
  for (int i = static_cast<int>(threadIdx.x); i < shape.v; i += kWarpSize) sum += C(x[i]) * C(dx[i]);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) delta[row] = sum;
}

/// Returns delta (batch, heads, L), in float32 for half types.
template <class T> Tensor attention_delta(const Tensor& out, const Tensor& dout, const AttentionShape& shape) {
  Tensor delta = core::empty(Shape{out.size(0), out.size(1), out.size(2)},
                             is_reduced_floating_point(out.dtype()) ? kFloat32 : out.dtype(), out.device());
  launch("attention_delta", attention_delta_kernel<T>, {checked_grid_size(ceil_div(delta.numel(), 4)), {kWarpSize, 4}},
         out.device(), head_rows<const T>(out), head_rows<const T>(dout), delta.data<OpMath<T>>(), shape);
  return delta;
}

}  // namespace tandem::kernels::cuda
