// Kernels that fill tensors with constants, sequences and random numbers, and kernels of dropout.
#pragma once
#include "tandem/kernels/declare.h"

TANDEM_DECLARE_KERNEL(void fill(const Scalar& value, Tensor& y))
/// y[i] = start + i * step, where y is one-dimensional and contiguous
TANDEM_DECLARE_KERNEL(void arange(const Scalar& start, const Scalar& step, Tensor& y))
/// Fill y with random numbers. They are assigned in logical (row-major) order of y, so that they do not depend on y's
/// memory layout. Philox generates them from `state` (int64 {seed, stream, block}, on y's device), beginning with block
/// number `block` + `offset`
TANDEM_DECLARE_KERNEL(void uniform(double low, double high, const Tensor& state, uint64_t offset, Tensor& y))
TANDEM_DECLARE_KERNEL(void normal(double mean, double std, const Tensor& state, uint64_t offset, Tensor& y))
TANDEM_DECLARE_KERNEL(void bernoulli(double p, const Tensor& state, uint64_t offset, Tensor& y))
TANDEM_DECLARE_KERNEL(void randint(int64_t low, int64_t high, const Tensor& state, uint64_t offset, Tensor& y))
/// mask[i] = uniform random number < keep; y = mask ? x * scale : 0
TANDEM_DECLARE_KERNEL(void dropout(const Tensor& x, double keep, double scale, const Tensor& state, uint64_t offset,
                                   Tensor& y, Tensor& mask))
namespace tandem::kernels::cuda {
/// dx = mask ? dy * scale : 0, where dx is contiguous
void dropout_backward(const Tensor& dy, const Tensor& mask, double scale, Tensor& dx);
}  // namespace tandem::kernels::cuda
/// Writes `words` to y, which has contiguous elements of 64 bits. On a GPU, the words (at most 16) are passed as kernel
/// arguments, so no copy from host memory is needed; the write is ordered by the current stream
TANDEM_DECLARE_KERNEL(void store_words(ArrayRef<uint64_t> words, Tensor& y))
