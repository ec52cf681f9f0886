// What the losses share. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/ops/loss/loss.h"

namespace tandem::detail {

inline Tensor reduced(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::none ? losses : reduction == Reduction::sum ? losses.sum() : losses.mean();
}

}  // namespace tandem::detail
