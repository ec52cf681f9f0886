// Options of dropout modules.
#pragma once
#include "tandem/core/option.h"

namespace tandem::nn {

struct DropoutOptions {
  DropoutOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);              // probability of dropping an element or a channel
  TANDEM_ARG(bool, inplace) = false;  // if true, overwrites the input
};
using Dropout2dOptions = DropoutOptions;
using Dropout3dOptions = DropoutOptions;
using AlphaDropoutOptions = DropoutOptions;
using FeatureAlphaDropoutOptions = DropoutOptions;

}  // namespace tandem::nn
