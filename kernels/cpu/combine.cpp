// The planner of what combines the parts of ranks or devices.
#include "tandem/kernels/combine.h"

#include <algorithm>
#include <cstring>

#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {
namespace {

void set_operand(Operand& operand, const Tensor& t) {
  operand = {&t.storage()->buffer, t.storage_offset() * element_size(t.dtype()), {}};
}

}  // namespace

TANDEM_DECLARE_LOOP(combine_sum)
TANDEM_DECLARE_LOOP(combine_max)
TANDEM_DECLARE_LOOP(combine_min)
void combine(const std::vector<Tensor>& parts, Combine how, double scale, Tensor& y) {
  if (y.numel() == 0) return;
  constexpr size_t kAtOnce = kMaxOperands - 1;
  // More parts than a loop has operands go in several passes; what is still to be read must not be written over.
  if (parts.size() > kAtOnce && std::any_of(parts.begin() + kAtOnce, parts.end(),
                                            [&](const Tensor& part) { return part.raw_data() == y.raw_data(); })) {
    Tensor beside = core::empty({y.numel()}, y.dtype(), y.device());
    combine(parts, how, scale, beside);
    std::memcpy(y.raw_data(), beside.raw_data(), static_cast<size_t>(y.nbytes()));
    return;
  }
  const LoopTables& rows = how == Combine::sum   ? loops::combine_sum
                           : how == Combine::max ? loops::combine_max
                                                 : loops::combine_min;
  for (size_t next = 0; next < parts.size();) {
    Loop loop{};
    loop.name = "combine";
    loop.dtype = y.dtype();
    loop.body = pick(rows, y.dtype(), "combine");
    loop.write_count = 1;
    set_operand(loop.operands[0], y);
    loop.operand_count = 1;
    if (next > 0) set_operand(loop.operands[loop.operand_count++], y);  // what the passes before have made
    while (loop.operand_count < kMaxOperands && next < parts.size())
      set_operand(loop.operands[loop.operand_count++], parts[next++]);
    loop.scalars[0] = integer(next == parts.size() && scale != 1);
    loop.scalars[1] = real(scale);
    loop.extents = {1, {y.numel()}};
    loop.range = y.numel();
    loop.grain = kElementwiseGrain;
    run(loop);
  }
}

}  // namespace tandem::kernels::cpu
