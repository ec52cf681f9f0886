// Whether operations may be computed as one, without their intermediate results: nn::set_layer_fusion.
#pragma once
#include <atomic>

#include "tandem/core/internal.h"

namespace tandem::detail {

inline std::atomic<bool> fusing = true;

}  // namespace tandem::detail
