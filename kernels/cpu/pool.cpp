// Planners of pooling.
#include "tandem/kernels/pool.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(max_pool2d)
TANDEM_DECLARE_LOOP(max_pool2d_backward)
TANDEM_DECLARE_LOOP(avg_pool2d)
TANDEM_DECLARE_LOOP(avg_pool2d_backward)
TANDEM_DECLARE_LOOP(adaptive_avg_pool2d)
TANDEM_DECLARE_LOOP(adaptive_avg_pool2d_backward)
namespace {
/// `wide` has the window's input sizes, `narrow` its output sizes; both (planes, h, w).
Loop plan_pool(const char* name, const LoopTables& rows, const Tensor& wide, const Tensor& narrow, TensorRefs writes,
               TensorRefs reads, const PoolShape& s, int64_t last) {
  const auto i = integer;
  return plan_rows(
      name, rows, wide.dtype(), writes, reads,
      {i(wide.size(1)), i(wide.size(2)), i(narrow.size(1)), i(narrow.size(2)), i(s.kernel[0]), i(s.kernel[1]),
       i(s.stride[0]), i(s.stride[1]), i(s.padding[0]), i(s.padding[1]), i(last), i(s.dilation[1])},
      wide.size(0), wide.size(1) * wide.size(2) * 2);
}
}  // namespace
void max_pool2d(const Tensor& x, const PoolShape& s, Tensor& y, Tensor& index) {
  run(plan_pool("max_pool2d", loops::max_pool2d, x, y, {y, index}, {x}, s, s.dilation[0]));
}
void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape& s, Tensor& dx) {
  run(plan_pool("max_pool2d_backward", loops::max_pool2d_backward, dx, dy, {dx}, {dy, index}, s, s.dilation[0]));
}
void avg_pool2d(const Tensor& x, const PoolShape& s, Tensor& y) {
  run(plan_pool("avg_pool2d", loops::avg_pool2d, x, y, {y}, {x}, s, s.count_include_pad));
}
void avg_pool2d_backward(const Tensor& dy, const PoolShape& s, Tensor& dx) {
  run(plan_pool("avg_pool2d_backward", loops::avg_pool2d_backward, dx, dy, {dx}, {dy}, s, s.count_include_pad));
}
void adaptive_avg_pool2d(const Tensor& x, Tensor& y) {
  run(plan_pool("adaptive_avg_pool2d", loops::adaptive_avg_pool2d, x, y, {y}, {x}, {}, 0));
}
void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx) {
  run(plan_pool("adaptive_avg_pool2d_backward", loops::adaptive_avg_pool2d_backward, dx, dy, {dx}, {dy}, {}, 0));
}

}  // namespace tandem::kernels::cpu
