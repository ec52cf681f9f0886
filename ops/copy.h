// Copies and conversions between dtypes and devices.
#pragma once
#include "tandem/autograd/ops.h"

namespace tandem {

/// `source`, or a copy of it when it shares elements with `target` in other places, so that writing target does not
/// change what is still to be read.
Tensor clear_of(const Tensor& target, const Tensor& source);
/// A contiguous copy, recorded.
Tensor clone(const Tensor& x);
/// x.copy_(source) for the op that the user called.
Tensor& write_over(const char* op, Tensor& x, const Tensor& source, bool non_blocking = false);

}  // namespace tandem
