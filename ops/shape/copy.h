// Copies of operands that operations make, and reshaping of results. Internal.
#pragma once
#include "tandem/autograd/ops.h"
#include "tandem/core/internal.h"

namespace tandem {

/// Returns `source`, or a copy of it if it partly overlaps `target` in memory, so that writing to target does not
/// change elements that are still to be read.
Tensor copy_if_overlapping(const Tensor& target, const Tensor& source);
/// Implements x.copy_(source). Error messages name the calling operation, `op`.
Tensor& copy_inplace(const char* op, Tensor& x, const Tensor& source, bool non_blocking = false);
/// Reshapes the contiguous result of an operation, to which no other reference exists. Autograd does not track the
/// returned tensor as a view.
Tensor reshape_result(const Tensor& y, IntArrayRef sizes);

}  // namespace tandem
