// Softmax and losses. Namespace and names as torch:: has them; nn/functional.h adds the option structs.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// What becomes of the losses of single elements. The capital names are LibTorch's.
enum class Reduction { none, mean, sum, None = none, Mean = mean, Sum = sum };

/// e^x / sum e^x along dim, computed without overflow.
/// @param x      of a floating dtype, any shape
/// @param dim    the dimension that adds up to 1; negative ones count from the end
/// @param dtype  what x is converted to first; its own unless given
/// @return       x's sizes
/// @throws Error for integers without a dtype, IndexError for a dim that x has not
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});
/// ln(softmax(x)) in one pass, exact where softmax is close to 0: what nll_loss takes. Arguments as softmax's.
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = {});

/// Negative log likelihood:  -weight[t] log_prob[n, t], averaged by the weights (Reduction::mean).
/// @param log_prob  (C), (N, C) or (N, C, d...), floating point
/// @param target    (), (N) or (N, d...) int64 or uint8 in [0, C), or ignore_index, which counts for nothing
/// @param weight    (C) or undefined
/// @throws IndexError on the CPU for any other target. Nothing to average gives NaN, as in PyTorch.
Tensor nll_loss(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                Reduction reduction = Reduction::mean, int64_t ignore_index = -100);
/// Other names of it.
inline Tensor nll_loss2d(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                         Reduction reduction = Reduction::mean, int64_t ignore_index = -100) {
  return nll_loss(log_prob, target, weight, reduction, ignore_index);
}
inline Tensor nll_loss_nd(const Tensor& log_prob, const Tensor& target, const Tensor& weight = {},
                          Reduction reduction = Reduction::mean, int64_t ignore_index = -100) {
  return nll_loss(log_prob, target, weight, reduction, ignore_index);
}
/// The loss of a classifier whose last layer gives logits x (N, C): nll_loss of log_softmax(x), with label_smoothing of
/// the target towards the uniform distribution. Without smoothing the two are one kernel, and backward reads x again:
/// it must not change in place before. A target of x's sizes, of floating point, holds the probability of each class:
/// -sum_c target[n, c] weight[c] log_prob[n, c], of which the mean is that of all samples whatever their weights; there
/// is no ignore_index then.
Tensor cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                     Reduction reduction = Reduction::mean, int64_t ignore_index = -100, double label_smoothing = 0);
/// Another name of it.
inline Tensor cross_entropy_loss(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                 Reduction reduction = Reduction::mean, int64_t ignore_index = -100,
                                 double label_smoothing = 0) {
  return cross_entropy(x, target, weight, reduction, ignore_index, label_smoothing);
}
/// The mean of (x - target)^2, or their sum, or each.
/// @param x       of a floating dtype
/// @param target  of x's sizes and device
/// @return        a scalar; with Reduction::none of x's sizes
/// @throws Error  for a target of other sizes: nothing broadcasts
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// The mean of |x - target|, or their sum, or each; its gradient at 0 is 0. Arguments as mse_loss's.
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// With d = |x - target|: 0.5 d^2 / beta where d is below beta, d - beta / 2 above. beta 0: l1_loss.
/// Arguments as mse_loss's.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, double beta = 1);
/// -weight (t ln x + (1 - t) ln(1 - x)) with logarithms of at least -100, as PyTorch's.
/// @param x       probabilities, in [0, 1]
/// @param target  of x's sizes and dtype, in [0, 1]
/// @param weight  of each element, or what broadcasts to that; none unless given
/// @throws Error  for other sizes or dtypes, and on the CPU for what is outside of [0, 1]
Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                            Reduction reduction = Reduction::mean);
/// binary_cross_entropy of sigmoid(x) in one step, which neither overflows nor loses digits.
/// @param x           any numbers: logits
/// @param pos_weight  of the positive part of each class: above 1, missing a positive costs more
Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, Reduction reduction = Reduction::mean);
/// 0.5 d^2 up to delta, delta (d - delta / 2) above, with d = |x - target|. @throws Error unless delta is positive
Tensor huber_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean, double delta = 1);
/// Kullback and Leibler's divergence target (ln target - x), for x a logarithm of probabilities; 0 where target is.
/// With log_target the target is a logarithm too. Operands broadcast. Reduction::mean divides by the number of
/// elements; the divergence of a batch is the sum over the number of samples.
Tensor kl_div(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean,
              detail::Flag log_target = false);
/// The negative log likelihood of counts of a Poisson distribution with mean e^x (log_input) or x:
/// e^x - target x, or x - target ln(x + eps). `full` adds Stirling's target ln target - target + ln(2 pi target) / 2
/// where target is above 1.
Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, detail::Flag log_input, detail::Flag full, double eps,
                        Reduction reduction);
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

// ---- margins. Targets of -1 and 1 say which of two cases it is; operands broadcast.

/// x where target is 1, max(0, margin - x) where it is -1; for any other target their sum.
Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);
/// max(0, margin - target (a - b))
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                           Reduction reduction = Reduction::mean);
/// With c the cosine of the angle between rows: 1 - c where target is 1, max(0, c - margin) where it is -1.
/// @param a, b    (N, D), or (D) with a scalar target
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::mean);
/// ln(1 + e^(-target x)), which does not overflow.
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// sum over the classes i but t = target[n] of max(0, margin - x[n, t] + x[n, i])^p weight[t] / C, p 1 or 2.
/// @param x       (N, C) or (C), with target (N) or (), int64 in [0, C)
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p = 1, const Scalar& margin = 1,
                         const Tensor& weight = {}, Reduction reduction = Reduction::mean);
/// sum over the classes t of the target and the classes i that are none of max(0, 1 - x[n, t] + x[n, i]) / C.
/// @param target  of x's sizes, (N, C) or (C), int64: classes, of which the first negative number ends the list
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// max(0, margin + |anchor - positive| - |anchor - negative|) with pairwise_distance's norm. With `swap` the negative's
/// distance is the smaller of those from the anchor and from the positive (Balntas et al. 2016).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, detail::Flag swap = false,
                           Reduction reduction = Reduction::mean);

}  // namespace tandem
