// The update of the scale of losses, for the CPU and for GPUs.
#pragma once
#include <stdint.h>

#include "tandem/core/half.h"

namespace tandem::kernels {

/// Updates the scale and its growth tracker after a step; kernels/optim.h describes the rules of update_scale. The
/// factors are applied in double and the result is rounded to float, as in PyTorch.
TANDEM_HD void next_scale(float found_inf, double growth, double backoff, int64_t interval, float& scale,
                          int32_t& tracker) {
  if (found_inf != 0) {
    scale = float(double(scale) * backoff);
    tracker = 0;
  } else if (tracker + 1 == interval) {
    const float grown = float(double(scale) * growth);
    if (grown - grown == 0) scale = grown;  // not if it is infinite
    tracker = 0;
  } else {
    ++tracker;
  }
}

}  // namespace tandem::kernels
