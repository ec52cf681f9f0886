// Softmax: softmax and log_softmax.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// e^x / sum e^x along dim, computed without overflow.
/// @param x      of a floating dtype, any shape
/// @param dim    the dimension that adds up to 1; negative ones count from the end
/// @param dtype  what x is converted to first; its own unless given
/// @return       x's sizes
/// @throws Error for integers without a dtype, IndexError for a dim that x has not
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// ln(softmax(x)) in one pass, exact where softmax is close to 0: what nll_loss takes. Arguments as softmax's.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

}  // namespace tandem
