// Kernels that write without reading: constants, sequences, random numbers. One signature list for both backends.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/core/tensor.h"

#define TANDEM_FILL_KERNELS                                                      \
  void fill(const Scalar& value, Tensor& y);                                     \
  /* y[i] = start + i * step; y is one-dimensional and contiguous */             \
  void arange(const Scalar& start, const Scalar& step, Tensor& y);               \
  /* random numbers in y's logical order, so that layout does not change them */ \
  void uniform(double low, double high, PhiloxState random, Tensor& y);          \
  void normal(double mean, double std, PhiloxState random, Tensor& y);           \
  void bernoulli(double p, PhiloxState random, Tensor& y);                       \
  void randint(int64_t low, int64_t high, PhiloxState random, Tensor& y);        \
  /* mask[i] = uniform < keep; y = mask ? x * scale : 0 */                       \
  void dropout(const Tensor& x, double keep, double scale, PhiloxState random, Tensor& y, Tensor& mask);

namespace tandem::kernels::cpu {
TANDEM_FILL_KERNELS
}
namespace tandem::kernels::cuda {
TANDEM_FILL_KERNELS
}
