// Planners of normalisation.
#include "tandem/kernels/norm.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(batch_norm_stats)
TANDEM_DECLARE_LOOP(batch_norm_apply)
TANDEM_DECLARE_LOOP(batch_norm_backward)
TANDEM_DECLARE_LOOP(layer_norm)
TANDEM_DECLARE_LOOP(layer_norm_backward)
void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  run(plan_rows("batch_norm_stats", loops::batch_norm_stats, x.dtype(), {mean, var, rstd}, {x},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), real(eps)}, x.size(1),
                x.size(0) * x.size(2) * 2));
}
void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                      Tensor& y) {
  run(plan_rows("batch_norm_apply", loops::batch_norm_apply, x.dtype(), {y}, {x, mean, rstd, weight, bias},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2))}, x.size(0) * x.size(1), x.size(2)));
}
void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  run(plan_rows("batch_norm_backward", loops::batch_norm_backward, x.dtype(), {sum_dy, sum_dy_xhat, dx},
                {dy, x, mean, rstd, weight},
                {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), integer(training)}, x.size(1),
                x.size(0) * x.size(2) * 3));
}
void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y, Tensor& mean,
                Tensor& rstd) {
  run(plan_rows("layer_norm", loops::layer_norm, x.dtype(), {y, mean, rstd}, {x, weight, bias},
                {integer(x.size(1)), real(eps)}, x.size(0), x.size(1) * 3));
}
void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, Tensor& dx, Tensor& dweight, Tensor& dbias) {
  // The sums over rows are taken block by block in the same pass over dy and x, and then over the blocks.
  const int64_t rows = x.size(0), n = x.size(1);
  const int64_t length = std::clamp<int64_t>(16384 / std::max<int64_t>(n, 1), 32, 1024);
  const int64_t blocks = (rows + length - 1) / length;
  const auto partial = [&](const Tensor& sum) {
    return sum.defined() ? core::empty({1, blocks, n}, sum.dtype(), x.device()) : Tensor();
  };
  const Tensor weights = partial(dweight), biases = partial(dbias);
  Loop loop =
      plan_rows("layer_norm_backward", loops::layer_norm_backward, x.dtype(), {dx, weights, biases},
                {dy, x, mean, rstd, weight}, {integer(n), integer(rows), integer(length)}, blocks, length * n * 3);
  run(loop);
  const auto finish = [&](const Tensor& parts, const Tensor& total) {
    if (!total.defined()) return;
    Tensor y = core::try_view(total, {1, n});
    sum(parts, y);
  };
  finish(weights, dweight), finish(biases, dbias);
}

}  // namespace tandem::kernels::cpu
