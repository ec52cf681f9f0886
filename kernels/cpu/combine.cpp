// Plans the CPU loop that combines tensors of several ranks or devices element by element.
#include "tandem/kernels/combine.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"

namespace tandem::kernels::cpu {
TANDEM_DECLARE_LOOP(combine_sum)
TANDEM_DECLARE_LOOP(combine_product)
TANDEM_DECLARE_LOOP(combine_max)
TANDEM_DECLARE_LOOP(combine_min)
void combine(const std::vector<Tensor>& parts, CombineOp how, double scale, Tensor& y) {
  if (y.numel() == 0) return;
  constexpr size_t kAtOnce = kMaxOperands - 1;
  // If there are more parts than a loop has operands, they are combined in several passes. If y is one of the parts
  // that the later passes read, the result goes into a temporary, because the first pass would overwrite that part.
  if (parts.size() > kAtOnce && std::any_of(parts.begin() + kAtOnce, parts.end(),
                                            [&](const Tensor& part) { return part.raw_data() == y.raw_data(); })) {
    Tensor temporary = core::empty({y.numel()}, y.dtype(), y.device());
    combine(parts, how, scale, temporary);
    Tensor flat = core::try_view(y, {y.numel()});
    return copy(temporary, flat);
  }
  const LoopTables& tables = how == CombineOp::sum       ? loops::combine_sum
                             : how == CombineOp::product ? loops::combine_product
                             : how == CombineOp::max     ? loops::combine_max
                                                         : loops::combine_min;
  for (size_t next = 0; next < parts.size();) {
    std::vector<std::reference_wrapper<const Tensor>> reads;
    if (next > 0) reads.push_back(y);  // in later passes, y is an input: it holds the result of the previous passes
    while (reads.size() < kAtOnce && next < parts.size()) reads.push_back(parts[next++]);
    run(plan_raw("combine", select_body(tables, y.dtype(), "combine"), y.dtype(), {y}, reads,
                 {integer(next == parts.size() && scale != 1), real(scale)}, y.numel(), kElementwiseGrain));
  }
}

}  // namespace tandem::kernels::cpu
