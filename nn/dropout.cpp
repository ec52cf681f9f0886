// Dropout of whole channels, and the checks and printing of the dropout modules.
#include "tandem/nn/dropout.h"

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

#define TANDEM_DROPOUT_TEXT(Name)                                         \
  TANDEM_CHECKED_MODULE_TEXT(Name, check_probability(#Name, options.p()), \
                             "p=" << printed(options.p()) << ", inplace=" << printed(options.inplace()))
TANDEM_DROPOUT_TEXT(Dropout)
TANDEM_DROPOUT_TEXT(Dropout2d)
TANDEM_DROPOUT_TEXT(Dropout3d)
TANDEM_DROPOUT_TEXT(AlphaDropout)
TANDEM_DROPOUT_TEXT(FeatureAlphaDropout)
#undef TANDEM_DROPOUT_TEXT

}  // namespace tandem::nn
