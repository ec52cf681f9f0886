// Losses: options, functions in namespace functional, and modules. The headers in ops/loss/ describe the computations.
#pragma once
#include <variant>

#include "tandem/core/option.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/loss/binary_cross_entropy.h"
#include "tandem/ops/loss/cross_entropy.h"
#include "tandem/ops/loss/ctc_loss.h"
#include "tandem/ops/loss/embedding_loss.h"
#include "tandem/ops/loss/gaussian_nll_loss.h"
#include "tandem/ops/loss/huber_loss.h"
#include "tandem/ops/loss/kl_div.h"
#include "tandem/ops/loss/l1_loss.h"
#include "tandem/ops/loss/margin_loss.h"
#include "tandem/ops/loss/mse_loss.h"
#include "tandem/ops/loss/nll_loss.h"
#include "tandem/ops/loss/poisson_nll_loss.h"
#include "tandem/ops/loss/reduction.h"
#include "tandem/ops/loss/triplet_margin_loss.h"

namespace tandem {
/// LibTorch's names for the reductions.
constexpr Reduction kMean = Reduction::mean, kSum = Reduction::sum, kNone = Reduction::none;
}  // namespace tandem

namespace tandem::nn {

struct NLLLossOptions {
  NLLLossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Tensor, weight);                // weight of each class
  TANDEM_ARG(int64_t, ignore_index) = -100;  // target value that is ignored
  TANDEM_ARG(Reduction, reduction);          // how the losses of the elements are reduced
};
struct CrossEntropyLossOptions {
  CrossEntropyLossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Tensor, weight);                // weight of each class
  TANDEM_ARG(int64_t, ignore_index) = -100;  // target value that is ignored
  TANDEM_ARG(double, label_smoothing) = 0;   // share of the uniform distribution in the target, from 0 to 1
  TANDEM_ARG(Reduction, reduction);          // how the losses of the elements are reduced
};
struct MSELossOptions {
  MSELossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
};
struct L1LossOptions {
  /// reduction: how the losses of the elements are reduced.
  L1LossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
};
struct SmoothL1LossOptions {
  /// reduction: how the losses of the elements are reduced.
  SmoothL1LossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(double, beta) = 1;      // error at which the loss turns from quadratic to linear
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
};
struct BCELossOptions {
  BCELossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Tensor, weight);        // weight of each element
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
};
struct BCEWithLogitsLossOptions {
  BCEWithLogitsLossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Tensor, weight);        // weight of each element
  TANDEM_ARG(Tensor, pos_weight);    // weight of the positive targets of each class
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
};
struct HuberLossOptions {
  /// reduction: how the losses of the elements are reduced.
  HuberLossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
  TANDEM_ARG(double, delta) = 1;     // error at which the loss turns from quadratic to linear
};
/// Tag for a reduction that only KLDivLoss has: the sum divided by the number of samples.
struct BatchMean {};
struct KLDivLossOptions {
  using reduction_t = std::variant<Reduction, BatchMean>;
  /// reduction: how the losses of the elements are reduced.
  KLDivLossOptions(reduction_t reduction = Reduction::mean) : reduction_(reduction) {}
  KLDivLossOptions(Reduction reduction) : reduction_(reduction) {}
  KLDivLossOptions(BatchMean reduction) : reduction_(reduction) {}
  TANDEM_ARG_DECLARED(reduction_t, reduction);  // how the losses of the elements are reduced
  TANDEM_ARG(bool, log_target) = false;         // if true, the target holds log probabilities too
};
struct PoissonNLLLossOptions {
  TANDEM_ARG(bool, log_input) = true;                  // if true, the input is the logarithm of the Poisson mean
  TANDEM_ARG(bool, full) = false;                      // if true, adds Stirling's approximation of ln(target!)
  TANDEM_ARG(double, eps) = 1e-8;                      // added to the input before its logarithm is taken
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
/// LibTorch has no GaussianNLLLoss; names and defaults follow Python's PyTorch.
struct GaussianNLLLossOptions {
  TANDEM_ARG(bool, full) = false;                      // if true, adds the constant ln(2 pi) / 2
  TANDEM_ARG(double, eps) = 1e-6;                      // lower bound of the variance
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct HingeEmbeddingLossOptions {
  TANDEM_ARG(double, margin) = 1;                      // minimum distance required of a dissimilar pair
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct MultiMarginLossOptions {
  TANDEM_ARG(int64_t, p) = 1;                          // exponent of the margin violations, 1 or 2
  TANDEM_ARG(double, margin) = 1;                      // minimum by which the target's score should exceed the others
  TANDEM_ARG(Tensor, weight);                          // weight of each class
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct CosineEmbeddingLossOptions {
  TANDEM_ARG(double, margin) = 0;                      // largest cosine similarity allowed for a dissimilar pair
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct MultiLabelMarginLossOptions {
  /// reduction: how the losses of the samples are reduced.
  MultiLabelMarginLossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);  // how the losses of the samples are reduced
};
struct SoftMarginLossOptions {
  /// reduction: how the losses of the elements are reduced.
  SoftMarginLossOptions(Reduction reduction = Reduction::mean) : reduction_(reduction) {}
  TANDEM_ARG(Reduction, reduction);  // how the losses of the elements are reduced
};
struct MultiLabelSoftMarginLossOptions {
  TANDEM_ARG(Tensor, weight);                          // weight of each class
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct TripletMarginLossOptions {
  TANDEM_ARG(double, margin) = 1;                      // d(anchor, negative) should exceed d(anchor, positive) by this
  TANDEM_ARG(double, p) = 2;                           // order p of the norm
  TANDEM_ARG(double, eps) = 1e-6;                      // added to each difference
  TANDEM_ARG(bool, swap) = false;                      // if true, also uses the distance between positive and negative
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct TripletMarginWithDistanceLossOptions {
  using distance_function_t = std::function<Tensor(const Tensor&, const Tensor&)>;
  TANDEM_ARG_DECLARED(std::optional<distance_function_t>, distance_function);  // pairwise_distance unless set
  TANDEM_ARG(double, margin) = 1;                      // d(anchor, negative) should exceed d(anchor, positive) by this
  TANDEM_ARG(bool, swap) = false;                      // if true, also uses the distance between positive and negative
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};
struct CTCLossOptions {
  TANDEM_ARG(int64_t, blank) = 0;                      // index of the blank class
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
  TANDEM_ARG(bool, zero_infinity) = false;             // if true, infinite losses become 0
};
struct MarginRankingLossOptions {
  TANDEM_ARG(double, margin) = 0;                      // minimum by which the higher-ranked input should be larger
  TANDEM_ARG(Reduction, reduction) = Reduction::mean;  // how the losses of the elements are reduced
};

}  // namespace tandem::nn
namespace tandem {
/// LibTorch's name for the reduction of KLDivLoss.
constexpr nn::BatchMean kBatchMean;
}  // namespace tandem

namespace tandem::nn::functional {

using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using NLLLossFuncOptions = NLLLossOptions;
using MSELossFuncOptions = MSELossOptions;
using L1LossFuncOptions = L1LossOptions;
using SmoothL1LossFuncOptions = SmoothL1LossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
using HuberLossFuncOptions = HuberLossOptions;
using KLDivFuncOptions = KLDivLossOptions;
using PoissonNLLLossFuncOptions = PoissonNLLLossOptions;
using GaussianNLLLossFuncOptions = GaussianNLLLossOptions;
using HingeEmbeddingLossFuncOptions = HingeEmbeddingLossOptions;
using MultiMarginLossFuncOptions = MultiMarginLossOptions;
using CosineEmbeddingLossFuncOptions = CosineEmbeddingLossOptions;
using MultilabelMarginLossFuncOptions = MultiLabelMarginLossOptions;
using SoftMarginLossFuncOptions = SoftMarginLossOptions;
using MultilabelSoftMarginLossFuncOptions = MultiLabelSoftMarginLossOptions;
using TripletMarginLossFuncOptions = TripletMarginLossOptions;
using TripletMarginWithDistanceLossFuncOptions = TripletMarginWithDistanceLossOptions;
using CTCLossFuncOptions = CTCLossOptions;
using MarginRankingLossFuncOptions = MarginRankingLossOptions;

// The losses of ops/loss/ with options as the last argument.

/// tandem::cross_entropy with options as the last argument.
inline Tensor cross_entropy(const Tensor& x, const Tensor& target, const CrossEntropyLossOptions& o = {}) {
  return tandem::cross_entropy(x, target, o.weight(), o.reduction(), o.ignore_index(), o.label_smoothing());
}
inline Tensor nll_loss(const Tensor& x, const Tensor& target, const NLLLossOptions& o = {}) {
  return tandem::nll_loss(x, target, o.weight(), o.reduction(), o.ignore_index());
}
inline Tensor mse_loss(const Tensor& x, const Tensor& target, const MSELossOptions& o = {}) {
  return tandem::mse_loss(x, target, o.reduction());
}
inline Tensor l1_loss(const Tensor& x, const Tensor& target, const L1LossOptions& o = {}) {
  return tandem::l1_loss(x, target, o.reduction());
}
inline Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1LossOptions& o = {}) {
  return tandem::smooth_l1_loss(x, target, o.reduction(), o.beta());
}
inline Tensor binary_cross_entropy(const Tensor& x, const Tensor& target, const BCELossOptions& o = {}) {
  return tandem::binary_cross_entropy(x, target, o.weight(), o.reduction());
}
inline Tensor binary_cross_entropy_with_logits(const Tensor& x, const Tensor& target,
                                               const BCEWithLogitsLossOptions& o = {}) {
  return tandem::binary_cross_entropy_with_logits(x, target, o.weight(), o.pos_weight(), o.reduction());
}
inline Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberLossOptions& o = {}) {
  return tandem::huber_loss(x, target, o.reduction(), o.delta());
}
/// Same as tandem::kl_div; the reduction kBatchMean divides the sum by the size of the first dimension.
Tensor kl_div(const Tensor& x, const Tensor& target, const KLDivLossOptions& o = {});

inline Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNLLLossOptions& o = {}) {
  return tandem::poisson_nll_loss(x, target, o.log_input(), o.full(), o.eps(), o.reduction());
}
inline Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                                const GaussianNLLLossOptions& o = {}) {
  return tandem::gaussian_nll_loss(x, target, var, o.full(), o.eps(), o.reduction());
}
inline Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, const HingeEmbeddingLossOptions& o = {}) {
  return tandem::hinge_embedding_loss(x, target, o.margin(), o.reduction());
}
inline Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginLossOptions& o = {}) {
  return tandem::multi_margin_loss(x, target, o.p(), o.margin(), o.weight(), o.reduction());
}
inline Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                    const CosineEmbeddingLossOptions& o = {}) {
  return tandem::cosine_embedding_loss(a, b, target, o.margin(), o.reduction());
}
inline Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, const MultiLabelMarginLossOptions& o = {}) {
  return tandem::multilabel_margin_loss(x, target, o.reduction());
}
inline Tensor soft_margin_loss(const Tensor& x, const Tensor& target, const SoftMarginLossOptions& o = {}) {
  return tandem::soft_margin_loss(x, target, o.reduction());
}
/// Mean over the classes (last dimension) of -weight * (t ln s(x) + (1 - t) ln s(-x)), where s is the sigmoid and t the
/// target. @throws Error unless x and target have the same sizes
inline Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target,
                                          const MultiLabelSoftMarginLossOptions& o = {}) {
  return detail::multilabel_soft_margin_loss(x, target, o.weight(), o.reduction());
}

inline Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                  const TripletMarginLossOptions& o = {}) {
  return tandem::triplet_margin_loss(anchor, positive, negative, o.margin(), o.p(), o.eps(), o.swap(), o.reduction());
}
/// Same as triplet_margin_loss, with a user-defined distance function.
inline Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                                const TripletMarginWithDistanceLossOptions& o = {}) {
  return detail::triplet_margin_with_distance_loss(anchor, positive, negative, o.distance_function(), o.margin(),
                                                   o.swap(), o.reduction());
}

inline Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, const CTCLossOptions& o = {}) {
  return tandem::ctc_loss(log_probs, targets, input_lengths, target_lengths, o.blank(), o.reduction(),
                          o.zero_infinity());
}
inline Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                  const MarginRankingLossOptions& o = {}) {
  return tandem::margin_ranking_loss(a, b, target, o.margin(), o.reduction());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

TANDEM_TWO_INPUT_MODULE(CrossEntropyLoss, cross_entropy);
TANDEM_TWO_INPUT_MODULE(NLLLoss, nll_loss);
TANDEM_TWO_INPUT_MODULE(MSELoss, mse_loss);
TANDEM_TWO_INPUT_MODULE(L1Loss, l1_loss);
TANDEM_TWO_INPUT_MODULE(SmoothL1Loss, smooth_l1_loss);
TANDEM_TWO_INPUT_MODULE(BCELoss, binary_cross_entropy);
TANDEM_TWO_INPUT_MODULE(BCEWithLogitsLoss, binary_cross_entropy_with_logits);
TANDEM_TWO_INPUT_MODULE(HuberLoss, huber_loss);
TANDEM_TWO_INPUT_MODULE(KLDivLoss, kl_div);
TANDEM_TWO_INPUT_MODULE(PoissonNLLLoss, poisson_nll_loss);
TANDEM_TWO_INPUT_MODULE(HingeEmbeddingLoss, hinge_embedding_loss);
TANDEM_TWO_INPUT_MODULE(MultiMarginLoss, multi_margin_loss);
TANDEM_TWO_INPUT_MODULE(MultiLabelMarginLoss, multilabel_margin_loss);
TANDEM_TWO_INPUT_MODULE(SoftMarginLoss, soft_margin_loss);
TANDEM_TWO_INPUT_MODULE(MultiLabelSoftMarginLoss, multilabel_soft_margin_loss);

#define TANDEM_THREE_INPUT_LOSS(Name, function)                         \
  class Name##Impl : public Cloneable<Name##Impl> {                     \
   public:                                                              \
    explicit Name##Impl(const Name##Options& o = {}) : options(o) {}    \
    void reset() override;                                              \
    void pretty_print(std::ostream& out) const override;                \
    Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) { \
      return functional::function(x, y, z, options);                    \
    }                                                                   \
    Name##Options options;                                              \
  };                                                                    \
  TANDEM_LIBRARY_MODULE(Name)
TANDEM_THREE_INPUT_LOSS(CosineEmbeddingLoss, cosine_embedding_loss);
TANDEM_THREE_INPUT_LOSS(GaussianNLLLoss, gaussian_nll_loss);
TANDEM_THREE_INPUT_LOSS(MarginRankingLoss, margin_ranking_loss);
TANDEM_THREE_INPUT_LOSS(TripletMarginLoss, triplet_margin_loss);
TANDEM_THREE_INPUT_LOSS(TripletMarginWithDistanceLoss, triplet_margin_with_distance_loss);
#undef TANDEM_THREE_INPUT_LOSS
/// Connectionist temporal classification; tandem::ctc_loss computes it.
class CTCLossImpl : public Cloneable<CTCLossImpl> {
 public:
  explicit CTCLossImpl(const CTCLossOptions& o = {}) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// log_probs (T, N, C), targets (N, S), input_lengths (N), target_lengths (N) -> a scalar, or (N) without a reduction
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths) {
    return functional::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
  }
  CTCLossOptions options;
};
TANDEM_LIBRARY_MODULE(CTCLoss);

}  // namespace tandem::nn
