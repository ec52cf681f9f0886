// Planners of pooling.
#include "tandem/kernels/pool.h"

#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {

#define TANDEM_DECLARE_POOL(op) TANDEM_DECLARE_LOOP(op) TANDEM_DECLARE_LOOP(op##_channels_last)
TANDEM_DECLARE_POOL(max_pool2d)
TANDEM_DECLARE_POOL(max_pool2d_backward)
TANDEM_DECLARE_POOL(avg_pool2d)
TANDEM_DECLARE_POOL(avg_pool2d_backward)
TANDEM_DECLARE_POOL(adaptive_avg_pool2d)
TANDEM_DECLARE_POOL(adaptive_avg_pool2d_backward)
namespace {
/// Tables of loop bodies of one pooling operation: one for contiguous planes (planes, H, W), one for channels-last
/// images.
struct PoolTables {
  const LoopTables &contiguous_planes, &channels_last;
};
/// Plans a pooling loop. `input_sized` has the input sizes of the pooling, `output_sized` its output sizes; both are
/// (planes, h, w), or channels-last images. `last` is the dilation of rows in max pooling, and count_include_pad in
/// average pooling.
Loop plan_pool(const char* name, const PoolTables& tables, const Tensor& input_sized, const Tensor& output_sized,
               TensorRefs writes, TensorRefs reads, const PoolShape& s, int64_t last) {
  const auto i = integer;
  const bool channels_last = input_sized.dim() == 4;
  const Tensor& written = *writes.begin();
  const int64_t range = channels_last ? written.size(0) * written.size(2) : input_sized.size(0);
  const int64_t work =
      channels_last ? written.size(3) * written.size(1) * 4 : input_sized.size(1) * input_sized.size(2) * 2;
  const int64_t h = input_sized.size(-2), w = input_sized.size(-1), oh = output_sized.size(-2),
                ow = output_sized.size(-1);
  Loop loop = plan_rows(name, channels_last ? tables.channels_last : tables.contiguous_planes, input_sized.dtype(),
                        writes, reads,
                        {i(h), i(w), i(oh), i(ow), i(s.kernel[0]), i(s.kernel[1]), i(s.stride[0]), i(s.stride[1]),
                         i(s.padding[0]), i(s.padding[1]), i(last), i(s.dilation[1])},
                        range, work);
  if (channels_last) loop.extents = {2, {range, input_sized.size(1)}};
  return loop;
}
}  // namespace
#define TANDEM_POOL_NAME_AND_TABLES(op) \
#op, { loops::op, loops::op##_channels_last }
void max_pool2d(const Tensor& x, const PoolShape& s, Tensor& y, Tensor& index) {
  TANDEM_CHECK(x.dim() == 4 || x.size(2) == 0 || s.dilation[0] * s.kernel[0] < (int64_t{1} << 31) / x.size(2),
               "max_pool2d: windows of ", s.kernel[0], " rows with dilation ", s.dilation[0], " over rows of ",
               x.size(2), " pixels are too large; the rows of a window may span up to 2^31 pixels");
  run(plan_pool(TANDEM_POOL_NAME_AND_TABLES(max_pool2d), x, y, {y, index}, {x}, s, s.dilation[0]));
}
void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape& s, Tensor& dx) {
  run(plan_pool(TANDEM_POOL_NAME_AND_TABLES(max_pool2d_backward), dx, dy, {dx}, {dy, index}, s, s.dilation[0]));
}
void avg_pool2d(const Tensor& x, const PoolShape& s, Tensor& y) {
  run(plan_pool(TANDEM_POOL_NAME_AND_TABLES(avg_pool2d), x, y, {y}, {x}, s, s.count_include_pad));
}
void avg_pool2d_backward(const Tensor& dy, const PoolShape& s, Tensor& dx) {
  run(plan_pool(TANDEM_POOL_NAME_AND_TABLES(avg_pool2d_backward), dx, dy, {dx}, {dy}, s, s.count_include_pad));
}
void adaptive_avg_pool2d(const Tensor& x, Tensor& y) {
  run(plan_pool(TANDEM_POOL_NAME_AND_TABLES(adaptive_avg_pool2d), x, y, {y}, {x}, {}, 0));
}
void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx) {
  run(plan_pool(TANDEM_POOL_NAME_AND_TABLES(adaptive_avg_pool2d_backward), dx, dy, {dx}, {dy}, {}, 0));
}

}  // namespace tandem::kernels::cpu
