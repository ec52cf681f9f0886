// Means over all elements or some dimensions: mean, nanmean, mean_out.
#include "tandem/ops/reduce/mean.h"

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/partial_sums.h"

namespace tandem {

TANDEM_CAST_POLICY(none, mean, nanmean);

namespace {
/// On CUDA, computes the mean over adjacent dims in one pass.
Tensor mean_over_adjacent_dims(const Tensor& x, IntArrayRef dims, bool keepdim, double count) {
  const ReducedDims r("mean", x, dims);
  Tensor flat = r.allocate_output(x.dtype());
  TANDEM_DISPATCH_CUDA(x.device(), mean, r.x, count, flat);
  return r.restore_result_shape(flat, keepdim);
}
}  // namespace
Tensor Tensor::mean(IntArrayRef dims, Flag keepdim) const {
  check_average("mean", *this, dims);
  if (is_cuda() && numel() > 0) {
    const unsigned mask = make_dim_mask("mean", dims, dim());
    const double each = static_cast<double>(num_reduced_elements(sizes(), mask));
    Tensor y = sum_over_non_channels("mean", *this, dims, keepdim, each);
    if (!y.defined()) {
      const Tensor total = sum_in_two_steps(core::alias(*this), dims, keepdim);
      y = total.defined() ? total / each : mean_over_adjacent_dims(*this, dims, keepdim, each);
    }
    return record_sum("mean", y, *this, mask, each);
  }
  Tensor y;
  const unsigned mask = make_dim_mask("mean", dims, dim());
  const auto count = static_cast<double>(num_reduced_elements(sizes(), mask));
  {
    const NoGradGuard guard;
    y = ((is_reduced_floating_point(dtype()) ? sum_with_dtype(*this, dims, keepdim, kFloat32) : sum(dims, keepdim)) /
         count)
            .to(dtype());
  }
  return record_sum("mean", y, *this, mask, count);
}
Tensor& mean_out(Tensor& out, const Tensor& x, IntArrayRef dims, Flag keepdim) {
  return detail::assign_out("mean_out", out, x, [&] { return x.mean(dims, keepdim); });
}

Tensor Tensor::nanmean(IntArrayRef dims, Flag keepdim) const {
  check_accepted_dtype("nanmean", AcceptedDtypes::real, dtype());
  const Tensor count = (*this == *this).sum(dims, keepdim);
  if (!is_reduced_floating_point(dtype())) return nansum(dims, keepdim) / count;
  // computed in float32, because the sum may overflow a half type
  return (to(kFloat32).nansum(dims, keepdim) / count).to(dtype());
}

}  // namespace tandem
