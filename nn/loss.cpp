// Implements losses that are composed of operations, and the printing of loss modules.
#include "tandem/nn/loss.h"

#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

namespace {
// Format the options of a loss as LibTorch prints them. Return an empty string in Python's style, which prints no
// options.
template <class Options> std::string margin_text(const Options& o) {
  if (!prints_as_libtorch) return {};
  std::string text = "margin=";
  return text += printed(o.margin());
}
template <class Options> std::string triplet_text(const Options& o) {
  std::string text = margin_text(o);
  if (text.empty()) return text;
  if constexpr (requires { o.p(); })
    text.append(", p=").append(printed(o.p())).append(", eps=").append(printed(o.eps()));
  return text.append(", swap=").append(printed(o.swap()));
}
}  // namespace

TANDEM_ARG_SETTER(KLDivLossOptions, reduction_t, reduction);
TANDEM_ARG_SETTER(TripletMarginWithDistanceLossOptions, std::optional<distance_function_t>, distance_function);

TANDEM_MODULE_TEXT(CrossEntropyLoss, "")
TANDEM_MODULE_TEXT(NLLLoss, "")
TANDEM_MODULE_TEXT(MSELoss, "")
TANDEM_MODULE_TEXT(L1Loss, "")
TANDEM_MODULE_TEXT(SmoothL1Loss, "")
TANDEM_MODULE_TEXT(BCELoss, "")
TANDEM_MODULE_TEXT(BCEWithLogitsLoss, "")
TANDEM_MODULE_TEXT(HuberLoss, "")
TANDEM_MODULE_TEXT(KLDivLoss, "")
TANDEM_MODULE_TEXT(PoissonNLLLoss, "")
TANDEM_MODULE_TEXT(GaussianNLLLoss, "")
TANDEM_MODULE_TEXT(HingeEmbeddingLoss, margin_text(options))
TANDEM_MODULE_TEXT(MultiMarginLoss, "")
TANDEM_MODULE_TEXT(MultiLabelMarginLoss, "")
TANDEM_MODULE_TEXT(SoftMarginLoss, "")
TANDEM_MODULE_TEXT(MultiLabelSoftMarginLoss, "")
TANDEM_MODULE_TEXT(CosineEmbeddingLoss, margin_text(options))
TANDEM_MODULE_TEXT(MarginRankingLoss, "")
TANDEM_MODULE_TEXT(TripletMarginLoss, triplet_text(options))
TANDEM_MODULE_TEXT(TripletMarginWithDistanceLoss, triplet_text(options))
TANDEM_MODULE_TEXT(CTCLoss, "")

namespace functional {

Tensor kl_div(const Tensor& x, const Tensor& target, const KLDivLossOptions& o) {
  if (const Reduction* const reduction = std::get_if<Reduction>(&o.reduction()))
    return tandem::kl_div(x, target, *reduction, o.log_target());
  TANDEM_CHECK(x.dim() > 0, "kl_div: x is a scalar; accepted for kBatchMean: (N, ...)");
  return tandem::kl_div(x, target, Reduction::sum, o.log_target()) / static_cast<double>(x.size(0));
}

}  // namespace functional

}  // namespace tandem::nn
