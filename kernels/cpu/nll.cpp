// Plans the CPU loops of losses for class indices: negative log likelihood and cross entropy.
#include "tandem/kernels/nll.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cpu {

namespace {
struct TargetCheck {
  const char* op;
  int64_t classes, ignore_index;
};
void check_targets(const char* op, const Tensor& target, int64_t classes, int64_t ignore_index) {
  const auto check = [](const TargetCheck& c, const Loop& loop, int64_t begin, int64_t end) {
    const int64_t* const t = data<int64_t>(loop, 0);
    for (int64_t i = begin; i < end; ++i)
      TANDEM_CHECK_AS(IndexError, t[i] == c.ignore_index || (t[i] >= 0 && t[i] < c.classes), c.op, ": target ", i,
                      " is ", t[i], "; accepted: 0 to ", c.classes - 1, ", or ignore_index ", c.ignore_index,
                      " (Target ", t[i], " is out of bounds)");
  };
  run(plan_call("check_targets", kInt64, {}, {target}, TargetCheck{op, classes, ignore_index}, check, target.numel(),
                target.numel()));
}
}  // namespace

TANDEM_DECLARE_LOOP(nll)
TANDEM_DECLARE_LOOP(nll_mean)
TANDEM_DECLARE_LOOP(nll_backward)
void nll(const Tensor& log_prob, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,
         Tensor& weights) {
  check_targets("nll_loss", target, log_prob.size(1), ignore_index);
  run(plan_rows("nll", loops::nll, log_prob.dtype(), {losses, weights}, {log_prob, target, weight},
                {integer(log_prob.size(1)), integer(ignore_index)}, log_prob.size(0), 1));
}
void nll_mean(const Tensor& losses, const Tensor& weights, Tensor& loss, Tensor& total) {
  run(plan_rows("nll_mean", loops::nll_mean, loss.dtype(), {loss, total}, {losses, weights}, {integer(losses.numel())},
                1, 1));
}
void nll_backward(const Tensor& dloss, const Tensor& total, const Tensor& target, const Tensor& weights,
                  int64_t ignore_index, Tensor& dx) {
  run(plan_rows("nll_backward", loops::nll_backward, dx.dtype(), {dx}, {dloss, target, weights, total},
                {integer(dx.size(1)), integer(ignore_index)}, dx.size(0), dx.size(1)));
}

TANDEM_DECLARE_LOOP(cross_entropy)
TANDEM_DECLARE_LOOP(cross_entropy_backward)
void cross_entropy(const Tensor& x, const Tensor& target, const Tensor& weight, int64_t ignore_index, Tensor& losses,
                   Tensor& weights, Tensor& log_sum) {
  check_targets("cross_entropy", target, x.size(1), ignore_index);
  run(plan_rows("cross_entropy", loops::cross_entropy, x.dtype(), {losses, weights, log_sum}, {x, target, weight},
                {integer(x.size(1)), integer(ignore_index)}, x.size(0), x.size(1) * 8));
}
void cross_entropy_backward(const Tensor& dloss, const Tensor& total, const Tensor& x, const Tensor& target,
                            const Tensor& weights, const Tensor& log_sum, int64_t ignore_index, Tensor& dx) {
  run(plan_rows("cross_entropy_backward", loops::cross_entropy_backward, x.dtype(), {dx},
                {dloss, x, target, weights, log_sum, total}, {integer(x.size(1)), integer(ignore_index)}, x.size(0),
                x.size(1) * 8));
}

namespace {
struct ProbabilityCheck {
  const char *name, *error_hint;
};
template <class T>
void check_probability_chunk(const ProbabilityCheck& c, const Loop& loop, int64_t begin, int64_t end) {
  const T* const x = data<T>(loop, 0);
  bool inside = true;
  for (int64_t i = begin; i < end; ++i) {
    const auto p = static_cast<OpMath<T>>(x[i]);
    inside &= p >= 0 && p <= 1;
  }
  if (inside) return;
  const auto [low, high] = std::minmax_element(x + begin, x + end, [](T a, T b) { return double(a) < double(b); });
  TANDEM_FAIL(c.name, " should be between 0 and 1, got values from ", double(*low), " to ", double(*high),
              c.error_hint);
}
}  // namespace
void check_probabilities(const char* name, const Tensor& x, const char* error_hint) {
  visit_dtype(x.dtype(), [&]<class T>() {
    if constexpr (is_floating_point(dtype_of<T>())) {
      const auto check = [](const ProbabilityCheck& c, const Loop& loop, int64_t begin, int64_t end) {
        check_probability_chunk<T>(c, loop, begin, end);
      };
      run(plan_call("check_probabilities", x.dtype(), {}, {x}, ProbabilityCheck{name, error_hint}, check, x.numel(),
                    65536));
    }
  });
}

}  // namespace tandem::kernels::cpu
