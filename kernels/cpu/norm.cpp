// Planners of layer normalisation.
#include "tandem/kernels/norm.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cpu {

/// Returns the dtype of a weight or bias as a loop scalar, which tells the loop how to read it. If the weight or bias
/// is undefined, returns the dtype in which x is computed.
static LoopScalar parameter_dtype(const Tensor& part, DType x) {
  return integer(static_cast<int64_t>(part.defined() ? part.dtype() : x == kFloat64 ? kFloat64 : kFloat32));
}

TANDEM_DECLARE_LOOP(layer_norm)
TANDEM_DECLARE_LOOP(layer_norm_backward)
void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y, Tensor& mean,
                Tensor& rstd) {
  run(plan_rows("layer_norm", loops::layer_norm, x.dtype(), {y, mean, rstd}, {x, weight, bias},
                {integer(x.size(1)), real(eps), parameter_dtype(weight, x.dtype()), parameter_dtype(bias, x.dtype())},
                x.size(0), x.size(1) * 3));
}
void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, Tensor& dx, Tensor& dweight, Tensor& dbias) {
  // The loop over dy and x also sums the gradients of weight and bias over each block of rows. These sums are added up
  // afterwards.
  const int64_t rows = x.size(0), n = x.size(1);
  const int64_t length = std::clamp<int64_t>(16384 / std::max<int64_t>(n, 1), 32, 1024);
  const int64_t blocks = (rows + length - 1) / length;
  // Returns the tensor for the sums of all blocks: `sum` itself if there is only one block, a new tensor otherwise.
  const auto partial = [&](const Tensor& sum) {
    return sum.defined() && blocks != 1 ? core::empty({1, blocks, n}, sum.dtype(), x.device()) : sum;
  };
  const Tensor weights = partial(dweight), biases = partial(dbias);
  run(plan_rows(
      "layer_norm_backward", loops::layer_norm_backward, x.dtype(), {dx, weights, biases}, {dy, x, mean, rstd, weight},
      {integer(n), integer(rows), integer(length), parameter_dtype(weight, x.dtype())}, blocks, length * n * 3));
  const auto finish = [&](const Tensor& parts, const Tensor& total) {
    if (!total.defined() || blocks == 1) return;
    Tensor y = core::try_view(total, {1, n});
    sum(parts, y);
  };
  finish(weights, dweight);
  finish(biases, dbias);
}

}  // namespace tandem::kernels::cpu
