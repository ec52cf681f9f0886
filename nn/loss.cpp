// Implements losses that are composed of operations, and the printing of loss modules.
#include "tandem/nn/loss.h"

#include "tandem/core/print/print_style.h"
#include "tandem/nn/module/print.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

namespace {
// Each function returns the options of a loss as LibTorch prints them, or "" if modules are printed as in Python,
// without options.
template <class Options> std::string format_margin(const Options& o) {
  if (!prints_as_libtorch) return {};
  std::string text = "margin=";
  return text += to_python_string(o.margin());
}
template <class Options> std::string format_triplet_options(const Options& o) {
  std::string text = format_margin(o);
  if (text.empty()) return text;
  if constexpr (requires { o.p(); })
    text.append(", p=").append(to_python_string(o.p())).append(", eps=").append(to_python_string(o.eps()));
  return text.append(", swap=").append(to_python_string(o.swap()));
}
}  // namespace

TANDEM_ARG_SETTER(KLDivLossOptions, reduction_t, reduction);
TANDEM_ARG_SETTER(TripletMarginWithDistanceLossOptions, std::optional<distance_function_t>, distance_function);

TANDEM_DEFINE_PRETTY_PRINT(CrossEntropyLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(NLLLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(MSELoss, "")
TANDEM_DEFINE_PRETTY_PRINT(L1Loss, "")
TANDEM_DEFINE_PRETTY_PRINT(SmoothL1Loss, "")
TANDEM_DEFINE_PRETTY_PRINT(BCELoss, "")
TANDEM_DEFINE_PRETTY_PRINT(BCEWithLogitsLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(HuberLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(KLDivLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(PoissonNLLLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(GaussianNLLLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(HingeEmbeddingLoss, format_margin(options))
TANDEM_DEFINE_PRETTY_PRINT(MultiMarginLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(MultiLabelMarginLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(SoftMarginLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(MultiLabelSoftMarginLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(CosineEmbeddingLoss, format_margin(options))
TANDEM_DEFINE_PRETTY_PRINT(MarginRankingLoss, "")
TANDEM_DEFINE_PRETTY_PRINT(TripletMarginLoss, format_triplet_options(options))
TANDEM_DEFINE_PRETTY_PRINT(TripletMarginWithDistanceLoss, format_triplet_options(options))
TANDEM_DEFINE_PRETTY_PRINT(CTCLoss, "")

namespace functional {

Tensor kl_div(const Tensor& x, const Tensor& target, const KLDivLossOptions& o) {
  if (const Reduction* const reduction = std::get_if<Reduction>(&o.reduction()))
    return tandem::kl_div(x, target, *reduction, o.log_target());
  TANDEM_CHECK(x.dim() > 0, "kl_div: x is a scalar; accepted with reduction kBatchMean: (N, ...)");
  return tandem::kl_div(x, target, Reduction::sum, o.log_target()) / static_cast<double>(x.size(0));
}

}  // namespace functional

}  // namespace tandem::nn
