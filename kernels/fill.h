// Kernels that write without reading: constants, sequences, random numbers.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/kernels/declare.h"

TANDEM_KERNEL(void fill(const Scalar& value, Tensor& y))
/// y[i] = start + i * step; y is one-dimensional and contiguous
TANDEM_KERNEL(void arange(const Scalar& start, const Scalar& step, Tensor& y))
/// Random numbers in y's logical order, so that layout does not change them
TANDEM_KERNEL(void uniform(double low, double high, PhiloxState random, Tensor& y))
TANDEM_KERNEL(void normal(double mean, double std, PhiloxState random, Tensor& y))
TANDEM_KERNEL(void bernoulli(double p, PhiloxState random, Tensor& y))
TANDEM_KERNEL(void randint(int64_t low, int64_t high, PhiloxState random, Tensor& y))
/// mask[i] = uniform < keep; y = mask ? x * scale : 0
TANDEM_KERNEL(void dropout(const Tensor& x, double keep, double scale, PhiloxState random, Tensor& y, Tensor& mask))
