// Implements the checks and the printing of dropout modules.
#include "tandem/nn/dropout.h"

#include "tandem/nn/module/print.h"

namespace tandem::nn {

namespace {
void check_probability(const char* name, double p) {
  TANDEM_CHECK(p >= 0 && p <= 1, name, ": dropout probability has to be between 0 and 1, but got ", p,
               "; 0 and 1 are accepted");
}
}  // namespace

#define TANDEM_DEFINE_DROPOUT_PRETTY_PRINT(Name)   \
  TANDEM_DEFINE_CHECKED_PRETTY_PRINT(              \
      Name, check_probability(#Name, options.p()), \
      "p=" << to_python_string(options.p()) << ", inplace=" << to_python_string(options.inplace()))
TANDEM_DEFINE_DROPOUT_PRETTY_PRINT(Dropout)
TANDEM_DEFINE_DROPOUT_PRETTY_PRINT(Dropout2d)
TANDEM_DEFINE_DROPOUT_PRETTY_PRINT(Dropout3d)
TANDEM_DEFINE_DROPOUT_PRETTY_PRINT(AlphaDropout)
TANDEM_DEFINE_DROPOUT_PRETTY_PRINT(FeatureAlphaDropout)
#undef TANDEM_DEFINE_DROPOUT_PRETTY_PRINT

}  // namespace tandem::nn
