// Whether a module still has the parameters that it had. Internal.
#pragma once
#include "tandem/nn/module.h"

namespace tandem::nn {

/// Whether module.named_parameters() would list the very tensors of `expected`, in that order. It makes no names, so
/// that it can be asked in every step.
bool has_parameters(const Module& module, const NamedParameters& expected);

}  // namespace tandem::nn
