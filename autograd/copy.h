// Copies and conversions between dtypes and devices.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Writes the elements of `source` into `target`, converting dtype, across devices, broadcasting. Records nothing and
/// does not raise the version: for copy_ and for those who build on it. `non_blocking` as in Tensor::to.
void copy_elements(const Tensor& source, const Tensor& target, bool non_blocking = false);
/// `source`, or a copy of it when it shares elements with `target` in other places, so that writing target does not
/// change what is still to be read.
Tensor clear_of(const Tensor& target, const Tensor& source);
/// A contiguous copy, recorded.
Tensor clone(const Tensor& x);

}  // namespace tandem
