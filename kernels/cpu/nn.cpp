// Planners of layers and losses.
#include "tandem/kernels/nn.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cpu {
namespace {

/// An operand that may be missing: its place stays, with a null buffer.
Loop plan(const char* name, const LoopRows& rows, DType dtype, TensorRefs operands,
          std::initializer_list<LoopScalar> scalars, int64_t range, int64_t work_per_unit) {
  Loop loop;
  loop.body = pick(rows, dtype, name);
  loop.name = name;
  loop.dtype = dtype;
  loop.operand_count = static_cast<int>(operands.size());
  loop.write_count = loop.operand_count;  // which are only read does not matter to a whole-row body
  int i = 0;
  for (const Tensor& t : operands) {
    Operand& o = loop.operands[i++];
    o.buffer = t.defined() ? &t.storage()->buffer : nullptr;
    o.offset = t.defined() ? t.storage_offset() * t.itemsize() : 0;
  }
  loop.extents = {1, {range}};
  loop.context = nullptr;
  std::copy(scalars.begin(), scalars.end(), loop.scalars);
  loop.range = range;
  loop.grain = std::max<int64_t>(kElementwiseGrain / 2 / std::max<int64_t>(work_per_unit, 1), 1);
  return loop;
}

void check_targets(const char* op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  const int64_t* const t = target.data<int64_t>();
  for (int64_t i = 0; i < target.numel(); ++i)
    TANDEM_CHECK_AS(IndexError, t[i] == ignore_index || (t[i] >= 0 && t[i] < classes), op, ": target ", i, " is ", t[i],
                    "; accepted: 0 to ", classes - 1, ", or ignore_index ", ignore_index);
}

}  // namespace

TANDEM_DECLARE_LOOP(softmax)
TANDEM_DECLARE_LOOP(log_softmax)
TANDEM_DECLARE_LOOP(softmax_backward)
TANDEM_DECLARE_LOOP(log_softmax_backward)
namespace {
Loop plan_softmax(const char* name, const LoopRows& rows, TensorRefs operands, int64_t cost) {
  const Tensor& y = *operands.begin();
  const int64_t n = y.size(1), inner = y.dim() == 3 ? y.size(2) : 1;
  Loop loop = plan(name, rows, y.dtype(), operands, {integer(n), integer(inner)}, y.size(0) * inner, n * cost);
  if (inner > 1) loop.grain = std::max<int64_t>(loop.grain, 64);  // columns are worked on side by side
  return loop;
}
}  // namespace
void softmax(const Tensor& x, Tensor& y) { run(plan_softmax("softmax", loops::softmax, {y, x}, 8)); }
void log_softmax(const Tensor& x, Tensor& y) { run(plan_softmax("log_softmax", loops::log_softmax, {y, x}, 8)); }
void softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx) {
  run(plan_softmax("softmax_backward", loops::softmax_backward, {dx, dy, y}, 2));
}
void log_softmax_backward(const Tensor& dy, const Tensor& y, Tensor& dx) {
  run(plan_softmax("log_softmax_backward", loops::log_softmax_backward, {dx, dy, y}, 8));
}

TANDEM_DECLARE_LOOP(nll)
TANDEM_DECLARE_LOOP(nll_mean)
TANDEM_DECLARE_LOOP(nll_backward)
void nll(const Tensor& log_prob, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,
         Tensor& weights) {
  check_targets("nll_loss", target, log_prob.size(1), ignore_index);
  run(plan("nll", loops::nll, log_prob.dtype(), {losses, weights, log_prob, target, weight},
           {integer(log_prob.size(1)), integer(ignore_index)}, log_prob.size(0), 1));
}
void nll_mean(const Tensor& losses, const Tensor& weights, Tensor& loss, Tensor& total) {
  run(plan("nll_mean", loops::nll_mean, loss.dtype(), {loss, total, losses, weights}, {integer(losses.numel())}, 1, 1));
}
void nll_backward(const Tensor& dloss, const Tensor& target, const Tensor& weights, int64_t ignore_index, Tensor& dx) {
  run(plan("nll_backward", loops::nll_backward, dx.dtype(), {dx, dloss, target, weights},
           {integer(dx.size(1)), integer(ignore_index)}, dx.size(0), dx.size(1)));
}

TANDEM_DECLARE_LOOP(cross_entropy)
TANDEM_DECLARE_LOOP(cross_entropy_backward)
void cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,
                   Tensor& weights, Tensor& log_sum) {
  check_targets("cross_entropy", target, x.size(1), ignore_index);
  run(plan("cross_entropy", loops::cross_entropy, x.dtype(), {losses, weights, log_sum, x, target, weight},
           {integer(x.size(1)), integer(ignore_index)}, x.size(0), x.size(1) * 8));
}
void cross_entropy_backward(const Tensor& dloss, const Tensor& x, const Tensor& target, const Tensor& weights,
                            const Tensor& log_sum, int64_t ignore_index, Tensor& dx) {
  run(plan("cross_entropy_backward", loops::cross_entropy_backward, x.dtype(), {dx, dloss, x, target, weights, log_sum},
           {integer(x.size(1)), integer(ignore_index)}, x.size(0), x.size(1) * 8));
}

TANDEM_DECLARE_LOOP(batch_norm_stats)
TANDEM_DECLARE_LOOP(batch_norm_apply)
TANDEM_DECLARE_LOOP(batch_norm_backward)
TANDEM_DECLARE_LOOP(layer_norm)
TANDEM_DECLARE_LOOP(layer_norm_backward)
void batch_norm_stats(const Tensor& x, double eps, Tensor& mean, Tensor& var, Tensor& rstd) {
  run(plan("batch_norm_stats", loops::batch_norm_stats, x.dtype(), {mean, var, rstd, x},
           {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), real(eps)}, x.size(1),
           x.size(0) * x.size(2) * 2));
}
void batch_norm_apply(const Tensor& x, const Tensor& mean, const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                      Tensor& y) {
  run(plan("batch_norm_apply", loops::batch_norm_apply, x.dtype(), {y, x, mean, rstd, weight, bias},
           {integer(x.size(0)), integer(x.size(1)), integer(x.size(2))}, x.size(0) * x.size(1), x.size(2)));
}
void batch_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, bool training, Tensor& sum_dy, Tensor& sum_dy_xhat, Tensor& dx) {
  run(plan("batch_norm_backward", loops::batch_norm_backward, x.dtype(),
           {sum_dy, sum_dy_xhat, dx, dy, x, mean, rstd, weight},
           {integer(x.size(0)), integer(x.size(1)), integer(x.size(2)), integer(training)}, x.size(1),
           x.size(0) * x.size(2) * 3));
}
void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps, Tensor& y, Tensor& mean,
                Tensor& rstd) {
  run(plan("layer_norm", loops::layer_norm, x.dtype(), {y, mean, rstd, x, weight, bias},
           {integer(x.size(1)), real(eps)}, x.size(0), x.size(1) * 3));
}
void layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& rstd,
                         const Tensor& weight, Tensor& dx, Tensor& dweight, Tensor& dbias) {
  // The sums over rows are taken block by block in the same pass over dy and x, and then over the blocks.
  const int64_t rows = x.size(0), n = x.size(1);
  const int64_t length = std::clamp<int64_t>(16384 / std::max<int64_t>(n, 1), 32, 1024);
  const int64_t blocks = (rows + length - 1) / length;
  const auto partial = [&](const Tensor& sum) {
    return sum.defined() ? core::empty({1, blocks, n}, x.dtype(), x.device()) : Tensor();
  };
  const Tensor weights = partial(dweight), biases = partial(dbias);
  Loop loop = plan("layer_norm_backward", loops::layer_norm_backward, x.dtype(),
                   {dx, weights, biases, dy, x, mean, rstd, weight}, {integer(n), integer(rows), integer(length)},
                   blocks, length * n * 3);
  run(loop);
  const auto finish = [&](const Tensor& parts, const Tensor& total) {
    if (!total.defined()) return;
    Tensor y = core::try_view(total, {1, n});
    sum(parts, y);
  };
  finish(weights, dweight), finish(biases, dbias);
}

TANDEM_DECLARE_LOOP(max_pool2d)
TANDEM_DECLARE_LOOP(max_pool2d_backward)
TANDEM_DECLARE_LOOP(avg_pool2d)
TANDEM_DECLARE_LOOP(avg_pool2d_backward)
TANDEM_DECLARE_LOOP(adaptive_avg_pool2d)
TANDEM_DECLARE_LOOP(adaptive_avg_pool2d_backward)
namespace {
/// `wide` has the window's input sizes, `narrow` its output sizes; both (planes, h, w).
Loop plan_pool(const char* name, const LoopRows& rows, const Tensor& wide, const Tensor& narrow, TensorRefs operands,
               const PoolShape& s, int64_t last) {
  const auto i = integer;
  return plan(name, rows, wide.dtype(), operands,
              {i(wide.size(1)), i(wide.size(2)), i(narrow.size(1)), i(narrow.size(2)), i(s.kernel[0]), i(s.kernel[1]),
               i(s.stride[0]), i(s.stride[1]), i(s.padding[0]), i(s.padding[1]), i(last), i(s.dilation[1])},
              wide.size(0), wide.size(1) * wide.size(2) * 2);
}
}  // namespace
void max_pool2d(const Tensor& x, const PoolShape& s, Tensor& y, Tensor& index) {
  run(plan_pool("max_pool2d", loops::max_pool2d, x, y, {y, index, x}, s, s.dilation[0]));
}
void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape&, Tensor& dx) {
  run(plan("max_pool2d_backward", loops::max_pool2d_backward, dx.dtype(), {dx, dy, index},
           {integer(dx.size(1) * dx.size(2)), integer(dy.size(1) * dy.size(2))}, dx.size(0), dx.size(1) * dx.size(2)));
}
void avg_pool2d(const Tensor& x, const PoolShape& s, Tensor& y) {
  run(plan_pool("avg_pool2d", loops::avg_pool2d, x, y, {y, x}, s, s.count_include_pad));
}
void avg_pool2d_backward(const Tensor& dy, const PoolShape& s, Tensor& dx) {
  run(plan_pool("avg_pool2d_backward", loops::avg_pool2d_backward, dx, dy, {dx, dy}, s, s.count_include_pad));
}
void adaptive_avg_pool2d(const Tensor& x, Tensor& y) {
  run(plan_pool("adaptive_avg_pool2d", loops::adaptive_avg_pool2d, x, y, {y, x}, {}, 0));
}
void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx) {
  run(plan_pool("adaptive_avg_pool2d_backward", loops::adaptive_avg_pool2d_backward, dx, dy, {dx, dy}, {}, 0));
}

TANDEM_DECLARE_LOOP(adam)
TANDEM_DECLARE_LOOP(sgd)
void adam(const AdamStep& s, const std::vector<Tensor>& gradients, const std::vector<Tensor>& steps,
          std::vector<Tensor>& parameters, std::vector<Tensor>& exp_avgs, std::vector<Tensor>& exp_avg_sqs,
          std::vector<Tensor>& max_exp_avg_sqs) {
  std::vector<Loop> all;
  const Tensor none;
  for (size_t i = 0; i < parameters.size(); ++i) {
    all.push_back(plan(
        "adam", loops::adam, parameters[i].dtype(),
        {parameters[i], exp_avgs[i], exp_avg_sqs[i], s.amsgrad ? max_exp_avg_sqs[i] : none, gradients[i], steps[i]},
        {real(s.lr), real(s.beta1), real(s.beta2), real(s.eps), real(s.weight_decay), integer(s.decoupled)},
        parameters[i].numel(), 2));
  }
  run_all(all);
}
void sgd(const SgdStep& s, const std::vector<Tensor>& gradients, std::vector<Tensor>& parameters,
         std::vector<Tensor>& momenta) {
  std::vector<Loop> all;
  const Tensor none;
  for (size_t i = 0; i < parameters.size(); ++i)
    all.push_back(plan(
        "sgd", loops::sgd, parameters[i].dtype(), {parameters[i], s.momentum != 0 ? momenta[i] : none, gradients[i]},
        {real(s.lr), real(s.momentum), real(s.dampening), real(s.weight_decay), integer(s.nesterov), integer(s.first)},
        parameters[i].numel(), 1));
  run_all(all);
}

TANDEM_DECLARE_LOOP(square_sums)
TANDEM_DECLARE_LOOP(scale)
TANDEM_DECLARE_LOOP(add_number)
void sum_of_squares(const std::vector<Tensor>& tensors, Tensor& total) {
  constexpr int64_t kLength = kElementwiseGrain;  // elements of one partial sum
  const auto blocks = [](const Tensor& t) { return (t.numel() + kLength - 1) / kLength; };
  int64_t count = 0;
  for (const Tensor& t : tensors) count += blocks(t);
  Tensor partial = core::empty({1, count, 1}, kFloat64, total.device());
  std::vector<Loop> all;
  all.reserve(tensors.size());
  int64_t first = 0;
  for (const Tensor& t : tensors) {
    const Tensor part = core::narrow(partial, 1, first, blocks(t));
    all.push_back(plan("sum_of_squares", loops::square_sums, t.dtype(), {part, t},
                       {integer(t.numel()), integer(kLength)}, blocks(t), kLength));
    first += blocks(t);
  }
  run_all(all);
  sum(partial, total);
}
/// Every element of the tensors and one number.
static void run_by(const char* op, const LoopRows& loop, double number, const std::vector<Tensor>& tensors) {
  std::vector<Loop> all;
  all.reserve(tensors.size());
  for (const Tensor& t : tensors) all.push_back(plan(op, loop, t.dtype(), {t}, {real(number)}, t.numel(), 1));
  run_all(all);
}
void scale_all(double factor, std::vector<Tensor>& tensors) { run_by("scale_all", loops::scale, factor, tensors); }
void add_to_all(double number, std::vector<Tensor>& tensors) {
  run_by("add_to_all", loops::add_number, number, tensors);
}

}  // namespace tandem::kernels::cpu
