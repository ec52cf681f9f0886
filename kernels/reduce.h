// Reductions over the middle dimension of (outer, reduced, inner), which every reduction is brought to. The order of
// every sum depends on shapes only. One signature list for both backends.
#pragma once
#include "tandem/core/tensor.h"

#define TANDEM_REDUCE_KERNELS                                                                              \
  /* x (outer, n, inner) contiguous -> y (outer, inner). Half types accumulate in float, integers and bool \
     in int64 (then y is int64) */                                                                         \
  void sum(const Tensor& x, Tensor& y);                                                                    \
  void prod(const Tensor& x, Tensor& y);                                                                   \
  void amax(const Tensor& x, Tensor& y);                                                                   \
  void amin(const Tensor& x, Tensor& y);                                                                   \
  /* y is bool */                                                                                          \
  void any(const Tensor& x, Tensor& y);                                                                    \
  void all(const Tensor& x, Tensor& y);                                                                    \
  /* also the position of the extremum in int64: the first, a NaN before all others */                     \
  void max_with_index(const Tensor& x, Tensor& y, Tensor& index);                                          \
  void min_with_index(const Tensor& x, Tensor& y, Tensor& index);                                          \
  /* running sums along the middle dimension; y has x's shape */                                           \
  void cumsum(const Tensor& x, bool reverse, Tensor& y);                                                   \
  /* sorted along the last dimension of (rows, n), stable; NaN counts as the largest */                    \
  void sort(const Tensor& x, bool descending, Tensor& y, Tensor& index);                                   \
  /* the first y.size(1) of each row as sort has them; the rest of the row is not sorted */                \
  void topk(const Tensor& x, bool largest, Tensor& y, Tensor& index);

namespace tandem::kernels::cpu {
TANDEM_REDUCE_KERNELS
}
namespace tandem::kernels::cuda {
TANDEM_REDUCE_KERNELS
}
