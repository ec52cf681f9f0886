// Softmax: softmax and log_softmax.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns e^x / sum e^x along dim, computed without overflow.
/// @param x      tensor of a floating dtype and any shape
/// @param dim    dimension along which the result sums to 1; negative values count from the end
/// @param dtype  dtype to which x is converted first; defaults to x's dtype
/// @return       tensor with x's sizes
/// @throws Error for integers without a dtype, and IndexError if x does not have dim
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// Returns ln(softmax(x)), computed in one pass and accurate where softmax is close to 0. nll_loss takes the result.
/// Arguments as in softmax.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

}  // namespace tandem
