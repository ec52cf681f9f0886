// Plans the CPU loops of softmax and log-softmax.
#include "tandem/kernels/softmax.h"

#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(softmax)
TANDEM_DECLARE_LOOP(log_softmax)
TANDEM_DECLARE_LOOP(softmax_backward)
TANDEM_DECLARE_LOOP(log_softmax_backward)
static Loop plan_softmax(const char* name, const LoopTables& tables, TensorRefs writes, TensorRefs reads,
                         int64_t cost) {
  const Tensor& y = *writes.begin();
  const int64_t n = y.size(1), inner = y.dim() == 3 ? y.size(2) : 1;
  Loop loop =
      plan_rows(name, tables, y.dtype(), writes, reads, {integer(n), integer(inner)}, y.size(0) * inner, n * cost);
  // The loop body computes groups of 32 columns, or of 32 short rows, side by side. So make the grain a multiple of 32.
  if (inner > 1 || n <= 32) loop.grain = (loop.grain + 31) / 32 * 32;
  return loop;
}
void softmax(const Tensor& x, Tensor& y) { run(plan_softmax("softmax", loops::softmax, {y}, {x}, 8)); }
void log_softmax(const Tensor& x, Tensor& y) { run(plan_softmax("log_softmax", loops::log_softmax, {y}, {x}, 8)); }
void softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx) {
  run(plan_softmax("softmax_backward", loops::softmax_backward, {dx}, {dy, y}, 2));
}
void log_softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx) {
  run(plan_softmax("log_softmax_backward", loops::log_softmax_backward, {dx}, {dy, y}, 8));
}

}  // namespace tandem::kernels::cpu
