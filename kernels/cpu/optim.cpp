// Planners of optimizer steps.
#include "tandem/kernels/optim.h"

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/loss_scale.h"

namespace tandem::kernels::cpu {

/// Returns a dtype as a scalar of a loop.
static LoopScalar dtype_scalar(DType dtype) { return integer(static_cast<int64_t>(dtype)); }

TANDEM_DECLARE_LOOP(adam)
TANDEM_DECLARE_LOOP(sgd)
void adam(const Tensor& values, bool amsgrad, const std::vector<Tensor>& gradients, const std::vector<Tensor>& steps,
          std::vector<Tensor>& parameters, std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,
          std::vector<Tensor>& max_exp_avg_sqs, std::vector<Tensor>& half_copies) {
  std::vector<Loop> all;
  all.reserve(parameters.size());
  const Tensor none;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor &p = parameters[i], &m = exp_avgs[i], &v = exp_avg_sqs[i], &top = amsgrad ? max_exp_avg_sqs[i] : none;
    const Tensor &g = gradients[i], &copy = half_copies[i];
    all.push_back(plan_rows("adam", loops::adam, p.dtype(), {p, m, v, top, copy}, {g, steps[i], values, p, m, v, top},
                            {dtype_scalar(g.dtype()), dtype_scalar(copy.defined() ? copy.dtype() : p.dtype())},
                            p.numel(), 2));
  }
  run_all(all);
}
void sgd(const Tensor& values, bool momentum, bool nesterov, const std::vector<Tensor>& gradients,
         std::vector<Tensor>& parameters, std::vector<Tensor>& momenta, std::vector<Tensor>& half_copies) {
  std::vector<Loop> all;
  all.reserve(parameters.size());
  const Tensor none;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor &p = parameters[i], &buffer = momentum ? momenta[i] : none;
    const Tensor &g = gradients[i], &copy = half_copies[i];
    all.push_back(
        plan_rows("sgd", loops::sgd, p.dtype(), {p, buffer, copy}, {g, values, p, buffer},
                  {dtype_scalar(g.dtype()), dtype_scalar(copy.defined() ? copy.dtype() : p.dtype()), integer(nesterov)},
                  p.numel(), 1));
  }
  run_all(all);
}

TANDEM_DECLARE_LOOP(square_sums)
TANDEM_DECLARE_LOOP(abs_sums)
TANDEM_DECLARE_LOOP(abs_maxima)
TANDEM_DECLARE_LOOP(abs_minima)
TANDEM_DECLARE_LOOP(scale)
TANDEM_DECLARE_LOOP(add_number)
void reduce_blocks(const std::vector<Tensor>& tensors, double p, int64_t length, Tensor& numbers) {
  const LoopTables& loop = p == 2   ? loops::square_sums
                           : p == 1 ? loops::abs_sums
                           : p > 0  ? loops::abs_maxima
                                    : loops::abs_minima;
  std::vector<Loop> all;
  all.reserve(tensors.size());
  int64_t first = 0;
  for (const Tensor& t : tensors) {
    const int64_t blocks = (t.numel() + length - 1) / length;
    const Tensor part = core::narrow(numbers, 0, first, blocks);
    all.push_back(plan_rows("reduce_blocks", loop, t.dtype(), {part}, {t}, {integer(t.numel()), integer(length)},
                            blocks, length));
    first += blocks;
  }
  run_all(all);
}
/// Runs a loop over all elements of each tensor. Operands: the tensor, `number_tensor`. Scalar: `number`.
static void run_scalar_loop(const char* op, const LoopTables& loop, double number, const Tensor& number_tensor,
                            const std::vector<Tensor>& tensors) {
  std::vector<Loop> all;
  all.reserve(tensors.size());
  for (const Tensor& t : tensors)
    all.push_back(plan_rows(op, loop, t.dtype(), {t}, {number_tensor, t}, {real(number)}, t.numel(), 1));
  run_all(all);
}
void scale_all(double factor, std::vector<Tensor>& tensors) {
  run_scalar_loop("scale_all", loops::scale, factor, {}, tensors);
}
void add_to_all(double number, const Tensor& skip, std::vector<Tensor>& tensors) {
  run_scalar_loop("add_to_all", loops::add_number, number, skip, tensors);
}

TANDEM_DECLARE_LOOP(unscale)
TANDEM_DECLARE_LOOP(find_non_finite)
void unscale_all(const Tensor& factor, std::vector<Tensor>& gradients, Tensor& found_inf) {
  std::vector<Loop> all;
  all.reserve(gradients.size());
  for (const Tensor& g : gradients)
    all.push_back(
        plan_rows("unscale_all", loops::unscale, g.dtype(), {found_inf, g}, {factor, found_inf, g}, {}, g.numel(), 1));
  run_all(all);
}
void find_non_finite(const std::vector<Tensor>& tensors, Tensor& found_inf) {
  std::vector<Loop> all;
  all.reserve(tensors.size());
  for (const Tensor& t : tensors)
    all.push_back(
        plan_rows("find_non_finite", loops::find_non_finite, t.dtype(), {found_inf}, {t, found_inf}, {}, t.numel(), 1));
  run_all(all);
}
void update_scale(const Tensor& found_inf, double growth, double backoff, int64_t interval, Tensor& scale,
                  Tensor& growth_tracker) {
  const LoopBody body = [](const Loop& loop, int64_t begin, int64_t end) {
    if (begin < end)
      next_scale(*data<const float>(loop, 2), loop.scalars[0].real, loop.scalars[1].real, loop.scalars[2].integer,
                 *data<float>(loop, 0), *data<int32_t>(loop, 1));
  };
  run(plan_raw("update_scale", body, kFloat32, {scale, growth_tracker}, {found_inf, scale, growth_tracker},
               {real(growth), real(backoff), integer(interval)}, /*range=*/1, /*grain=*/1));
}

}  // namespace tandem::kernels::cpu
