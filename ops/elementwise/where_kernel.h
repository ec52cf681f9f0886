// Calls the kernel of where for where and masked_fill. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// condition ? a : b; @throws Error that names op. row_major: the result is contiguous, whatever the operands are.
Tensor choose(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b, bool row_major = false);

}  // namespace tandem::detail
