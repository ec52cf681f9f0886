// Kernels for constants, sequences, random numbers and dropout.
#pragma once
#include "tandem/kernels/declare.h"

TANDEM_KERNEL(void fill(const Scalar& value, Tensor& y))
/// y[i] = start + i * step; y is one-dimensional and contiguous
TANDEM_KERNEL(void arange(const Scalar& start, const Scalar& step, Tensor& y))
/// Random numbers, assigned in y's logical order, so that they do not depend on its layout. Philox draws them with
/// `state` (int64 {seed, stream, block}, on y's device), from block `block` + `offset` on
TANDEM_KERNEL(void uniform(double low, double high, const Tensor& state, uint64_t offset, Tensor& y))
TANDEM_KERNEL(void normal(double mean, double std, const Tensor& state, uint64_t offset, Tensor& y))
TANDEM_KERNEL(void bernoulli(double p, const Tensor& state, uint64_t offset, Tensor& y))
TANDEM_KERNEL(void randint(int64_t low, int64_t high, const Tensor& state, uint64_t offset, Tensor& y))
/// mask[i] = uniform < keep; y = mask ? x * scale : 0
TANDEM_KERNEL(void dropout(const Tensor& x, double keep, double scale, const Tensor& state, uint64_t offset, Tensor& y,
                           Tensor& mask))
namespace tandem::kernels::cuda {
/// dx = mask ? dy * scale : 0, contiguous
void dropout_backward(const Tensor& dy, const Tensor& mask, double scale, Tensor& dx);
}  // namespace tandem::kernels::cuda
/// Sets `y`, contiguous elements of 64 bits, to `words`. The words are kernel arguments on a GPU (at most 16), so no
/// copy from host memory is needed; ordered by the current stream
TANDEM_KERNEL(void store_words(ArrayRef<uint64_t> words, Tensor& y))
