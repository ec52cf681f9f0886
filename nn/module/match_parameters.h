// Checks whether a module's parameters are still those of an earlier list. Internal.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn {

/// Returns true if module.named_parameters() would list exactly the tensors of `expected`, in that order. Builds no
/// names, so it is cheap enough for every step.
bool has_same_parameters(const Module& module, const NamedParameters& expected);

}  // namespace tandem::nn
