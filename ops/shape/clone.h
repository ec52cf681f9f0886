// Copies: clone.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// A copy, recorded: as x lies, or in the format given.
Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);

}  // namespace tandem
