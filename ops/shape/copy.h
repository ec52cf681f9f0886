// Copies that operations make of their operands, and results that they give. Internal.
#pragma once
#include "tandem/autograd/ops.h"
#include "tandem/core/internal.h"

namespace tandem {

/// `source`, or a copy of it when it shares elements with `target` in other places, so that writing target does not
/// change what is still to be read.
Tensor clear_of(const Tensor& target, const Tensor& source);
/// x.copy_(source) for the op that the user called.
Tensor& write_over(const char* op, Tensor& x, const Tensor& source, bool non_blocking = false);
/// The contiguous result of an op that nobody else holds, in another shape: the op's own result, and no view of it.
Tensor reshape_result(const Tensor& y, IntArrayRef sizes);

}  // namespace tandem
