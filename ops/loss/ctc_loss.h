// Connectionist temporal classification: ctc_loss. Namespace and names as in torch::.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns the connectionist temporal classification loss (Graves et al. 2006): -ln of the total probability of all
/// alignments of a target with the steps of its input. In an alignment, repeated classes count once, and `blank`
/// separates equal classes.
/// A target that does not fit its input has an infinite loss, or 0 if zero_infinity; the gradient is 0 in either case.
/// The gradient is the exact derivative with respect to log_probs. PyTorch's gradient has the additional term
/// e^log_probs, which log_softmax's backward cancels.
/// @param log_probs       (T, N, C) or (T, C): logarithms of probabilities
/// @param targets         (N, S) padded; or all targets concatenated; or (S) for one sample. int64 or int32, without
///                        blanks
/// @param input_lengths   number of steps of each of the N samples, at most T
/// @param target_lengths  length of each sample's target. Reduction::mean first divides each loss by this length
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank = 0, detail::LossReduction reduction = Reduction::mean,
                detail::Flag zero_infinity = false);
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0, detail::LossReduction reduction = Reduction::mean,
                detail::Flag zero_infinity = false);

}  // namespace tandem
