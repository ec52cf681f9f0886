// What the pools share. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// How many elements, with padding, each of `count` windows has along a dimension of `size`: a vector on like's device.
Tensor window_sizes(int64_t size, int64_t count, int64_t kernel, int64_t stride, int64_t padding, const Tensor& like);

}  // namespace tandem::detail
