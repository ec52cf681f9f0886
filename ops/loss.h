// Softmax and losses. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// What becomes of the losses of single elements. The capital names are LibTorch's.
enum class Reduction { none, mean, sum, None = none, Mean = mean, Sum = sum };

/// e^x / sum e^x along dim, and its logarithm; of floating dtypes, in x's shape and dtype.
Tensor softmax(const Tensor& x, int64_t dim);
Tensor log_softmax(const Tensor& x, int64_t dim);

/// Negative log likelihood:  -weight[t] log_prob[n, t], averaged by the weights (Reduction::mean).
/// @param log_prob  (C), (N, C) or (N, C, d...), floating point
/// @param target    (), (N) or (N, d...) int64 or uint8 in [0, C), or ignore_index, which counts for nothing
/// @param weight    (C) or undefined
/// @throws IndexError on the CPU for any other target. Nothing to average gives NaN, as in PyTorch.
Tensor nll_loss(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                Reduction reduction = Reduction::mean, int64_t ignore_index = -100);
/// nll_loss of log_softmax(x), with label_smoothing of the target towards the uniform distribution. Without smoothing
/// the two are one kernel, and backward reads x again: it must not change in place before.
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                     Reduction reduction = Reduction::mean, int64_t ignore_index = -100, double label_smoothing = 0);
/// (x - y)^2, |x - y|
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// 0.5 d^2 / beta below beta, d - beta / 2 above
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, double beta = 1);
/// -(t ln x + (1 - t) ln(1 - x)) with logarithms of at least -100, as PyTorch's
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                            Reduction reduction = Reduction::mean);
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, Reduction reduction = Reduction::mean);

}  // namespace tandem
