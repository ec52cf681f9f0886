// Copies a result into the tensor that the caller gave: write_result, which out versions of operations call.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Copies y into out. @throws Error if out's dtype or device does not fit, or if y or out requires a gradient
Tensor& write_result(const char* op, Tensor& out, const Tensor& y);
void write_results(const char* op, TensorList out, const std::vector<Tensor>& parts);

}  // namespace tandem::detail
