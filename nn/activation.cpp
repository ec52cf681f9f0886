#include "tandem/nn/activation.h"

#include "tandem/core/print_style.h"
#include "tandem/nn/module/print.h"

namespace tandem::nn {

namespace {
Tensor drop_channels(Tensor x, int64_t batched, const functional::DropoutFuncOptions& o) {
  if (x.dim() == batched)
    return o.inplace() ? feature_dropout_(x, o.p(), o.training()) : feature_dropout(x, o.p(), o.training());
  Tensor one = x.unsqueeze(0);
  if (!o.inplace()) return feature_dropout(one, o.p(), o.training()).squeeze(0);
  feature_dropout_(one, o.p(), o.training());  // a view: x is changed
  return x;
}
void check_probability(const char* name, double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, name, ": p is ", p, "; accepted: 0 to 1");
}
}  // namespace
Tensor functional::dropout2d(Tensor x, const DropoutFuncOptions& o) { return drop_channels(std::move(x), 4, o); }
Tensor functional::dropout3d(Tensor x, const DropoutFuncOptions& o) { return drop_channels(std::move(x), 5, o); }

TANDEM_MODULE_TEXT(Sigmoid, "")
TANDEM_MODULE_TEXT(Tanh, "")
TANDEM_MODULE_TEXT(GELU, "approximate='" << options.approximate() << "'")
TANDEM_MODULE_TEXT(SiLU, "")
TANDEM_MODULE_TEXT(Identity, "")
TANDEM_MODULE_TEXT(ReLU, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(LeakyReLU, "negative_slope=" << printed(options.negative_slope())
                                                << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(ELU, "alpha=" << printed(options.alpha()) << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(SELU, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(Mish, "")
TANDEM_MODULE_TEXT(ReLU6, (options.inplace() ? "inplace=True" : ""))
TANDEM_MODULE_TEXT(Softsign, "")
TANDEM_MODULE_TEXT(Tanhshrink, "")
TANDEM_MODULE_TEXT(LogSigmoid, "")
TANDEM_MODULE_TEXT(CELU, "alpha=" << printed(options.alpha()) << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Hardshrink, printed(options.lambda()))
TANDEM_MODULE_TEXT(Softshrink, printed(options.lambda()))
TANDEM_CHECKED_MODULE_TEXT(Hardtanh,
                           TANDEM_CHECK(options.max_val() > options.min_val(), "Hardtanh: max_val is ",
                                        options.max_val(), " and min_val ", options.min_val(),
                                        "; max_val must be greater than min_val"),
                           "min_val=" << printed(options.min_val()) << ", max_val=" << printed(options.max_val())
                                      << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(RReLU, "lower=" << printed(options.lower()) << ", upper=" << printed(options.upper())
                                   << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Softplus, "beta=" << printed(options.beta()) << ", threshold=" << printed(options.threshold()))
TANDEM_MODULE_TEXT(GLU, "dim=" << options.dim())
TANDEM_MODULE_TEXT(Softmin, "dim=" << options.dim())
TANDEM_MODULE_TEXT(Threshold, "threshold=" << printed(options.threshold()) << ", value=" << printed(options.value())
                                           << (options.inplace() ? ", inplace=True" : ""))
TANDEM_MODULE_TEXT(Softmax2d, "")
TANDEM_MODULE_TEXT(Unflatten, "dim=" << options.dim() << ", unflattened_size=" << IntArrayRef(options.sizes()))
TANDEM_MODULE_TEXT(Softmax, "dim=" << options.dim())
TANDEM_MODULE_TEXT(LogSoftmax, "dim=" << options.dim())
TANDEM_MODULE_TEXT(Flatten, "start_dim=" << options.start_dim() << ", end_dim=" << options.end_dim())
TANDEM_CHECKED_MODULE_TEXT(Dropout, check_probability("Dropout", options.p()),
                           "p=" << printed(options.p()) << ", inplace=" << printed(options.inplace()))
TANDEM_CHECKED_MODULE_TEXT(Dropout2d, check_probability("Dropout2d", options.p()),
                           "p=" << printed(options.p()) << ", inplace=" << printed(options.inplace()))
TANDEM_CHECKED_MODULE_TEXT(Dropout3d, check_probability("Dropout3d", options.p()),
                           "p=" << printed(options.p()) << ", inplace=" << printed(options.inplace()))
TANDEM_CHECKED_MODULE_TEXT(AlphaDropout, check_probability("AlphaDropout", options.p()),
                           "p=" << printed(options.p()) << ", inplace=" << printed(options.inplace()))
TANDEM_CHECKED_MODULE_TEXT(FeatureAlphaDropout, check_probability("FeatureAlphaDropout", options.p()),
                           "p=" << printed(options.p()) << ", inplace=" << printed(options.inplace()))

Tensor Softmax2dImpl::forward(const Tensor& x) {
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4, "Softmax2d: x is ", x.sizes(), "; accepted: (C, H, W) or (N, C, H, W)");
  return softmax(x, -3);
}
template class Cloneable<FunctionalImpl>;
void FunctionalImpl::reset() {}

// Of distances, Python prints no options and LibTorch does.
template class Cloneable<CosineSimilarityImpl>;
void CosineSimilarityImpl::reset() {}
void CosineSimilarityImpl::pretty_print(std::ostream& out) const {
  out << "CosineSimilarity(";
  if (prints_as_libtorch) out << "dim=" << options.dim() << ", eps=" << printed(options.eps());
  out << ")";
}
template class Cloneable<PairwiseDistanceImpl>;
void PairwiseDistanceImpl::reset() {}
void PairwiseDistanceImpl::pretty_print(std::ostream& out) const {
  out << "PairwiseDistance(";
  if (prints_as_libtorch)
    out << "p=" << printed(options.p()) << ", eps=" << printed(options.eps())
        << ", keepdim=" << printed(options.keepdim());
  out << ")";
}

}  // namespace tandem::nn
