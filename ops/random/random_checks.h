// What random operations ask of parameters that are tensors. Internal.
#pragma once
#include "tandem/core/rank_context.h"
#include "tandem/core/trace/observer.h"
#include "tandem/ops/reduce/reduce.h"

namespace tandem::detail {

/// @throws Error unless all lie in [least, most]. Not asked on a GPU, where it would have to wait, nor of what is
/// traced or recorded, as the host must not read values then.
inline void check_each_in_range(const char* op, const char* what, const Tensor& x, double least, double most) {
  if (!x.is_cpu() || RankContext::current().observer || x.numel() == 0) return;
  const NoGradGuard guard;
  const double low = x.detach().amin().item<double>(), high = x.detach().amax().item<double>();  // a NaN wins
  TANDEM_CHECK(low >= least && high <= most, op, ": ", what, " is ", low >= least ? high : low, "; accepted: ", least,
               " to ", most);
}

}  // namespace tandem::detail
