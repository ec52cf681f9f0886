// Planners of optimizer steps.
#include "tandem/kernels/optim.h"

#include "tandem/kernels/cpu/planner.h"

namespace tandem::kernels::cpu {

TANDEM_DECLARE_LOOP(adam)
TANDEM_DECLARE_LOOP(sgd)
void adam(const Tensor& values, bool amsgrad, const std::vector<Tensor>& gradients, const std::vector<Tensor>& steps,
          std::vector<Tensor>& parameters, std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,
          std::vector<Tensor>& max_exp_avg_sqs) {
  std::vector<Loop> all;
  all.reserve(parameters.size());
  const Tensor none;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor &p = parameters[i], &m = exp_avgs[i], &v = exp_avg_sqs[i], &top = amsgrad ? max_exp_avg_sqs[i] : none;
    all.push_back(plan_rows("adam", loops::adam, p.dtype(), {p, m, v, top},
                            {gradients[i], steps[i], values, p, m, v, top}, {}, p.numel(), 2));
  }
  run_all(all);
}
void sgd(const Tensor& values, bool momentum, bool nesterov, const std::vector<Tensor>& gradients,
         std::vector<Tensor>& parameters, std::vector<Tensor>& momenta) {
  std::vector<Loop> all;
  all.reserve(parameters.size());
  const Tensor none;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor &p = parameters[i], &buffer = momentum ? momenta[i] : none;
    all.push_back(plan_rows("sgd", loops::sgd, p.dtype(), {p, buffer}, {gradients[i], values, p, buffer},
                            {integer(nesterov)}, p.numel(), 1));
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
/// Runs a loop over all elements of each tensor, with `number` as the loop's only scalar.
static void run_by(const char* op, const LoopTables& loop, double number, const std::vector<Tensor>& tensors) {
  std::vector<Loop> all;
  all.reserve(tensors.size());
  for (const Tensor& t : tensors) all.push_back(plan_rows(op, loop, t.dtype(), {t}, {}, {real(number)}, t.numel(), 1));
  run_all(all);
}
void scale_all(double factor, std::vector<Tensor>& tensors) { run_by("scale_all", loops::scale, factor, tensors); }
void add_to_all(double number, std::vector<Tensor>& tensors) {
  run_by("add_to_all", loops::add_number, number, tensors);
}

}  // namespace tandem::kernels::cpu
