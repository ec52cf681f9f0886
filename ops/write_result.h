// How the forms of operations that write into given tensors do that: the result is computed first and then copied.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Copies y into out. @throws Error where out does not fit it, or either wants a gradient
Tensor& write_result(const char* op, Tensor& out, const Tensor& y);
void write_results(const char* op, TensorList out, const std::vector<Tensor>& parts);

}  // namespace tandem::detail
