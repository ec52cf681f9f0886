// Implements the checks and the printing of dropout modules.
#include "tandem/nn/dropout.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

namespace {
void check_probability(const char* name, double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, name, ": dropout probability has to be between 0 and 1, but got ", p);
}
}  // namespace

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
