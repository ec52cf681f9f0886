// Launches the kernel of where, for where and masked_fill. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Returns `a` where condition is true, and `b` elsewhere. If row_major, the result is contiguous; otherwise its layout
/// follows the operands. @throws Error that names op
Tensor launch_where(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b, bool row_major = false);

}  // namespace tandem::detail
