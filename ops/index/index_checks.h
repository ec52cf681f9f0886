// Checks of indices and sources, and conversion of negative positions. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Places counted from the end where they are negative.
Tensor from_front(const Tensor& places, int64_t n);
/// The index as the kernels take it. An index without elements reaches nothing, whatever its shape.
Tensor checked_places(const char* op, const Tensor& x, int64_t dim, const Tensor& index);

}  // namespace tandem::detail
