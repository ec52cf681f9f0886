// Connectionist temporal classification: ctc_loss. Namespace and names as torch:: has them.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Connectionist temporal classification (Graves et al. 2006): -ln of the probability of all ways to spell a target in
/// the steps of its input, where repeated classes count once and `blank` parts them.
/// @param log_probs       (T, N, C) or (T, C), logarithms of probabilities
/// @param targets         (N, S) padded, or all targets joined, or (S) of one sample; int64 or int32, no blanks
/// @param input_lengths   of each of the N samples, at most T
/// @param target_lengths  of each sample. The mean divides each loss by it first.
/// A target that does not fit its input has an infinite loss, or with zero_infinity 0; neither has a gradient. The
/// gradient is that of this function of log_probs: PyTorch adds e^log_probs, which log_softmax's backward undoes.
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank = 0, Reduction reduction = Reduction::mean, detail::Flag zero_infinity = false);
Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0, Reduction reduction = Reduction::mean,
                detail::Flag zero_infinity = false);

}  // namespace tandem
