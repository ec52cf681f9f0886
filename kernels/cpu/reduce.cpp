// Planners of reductions.
#include "tandem/kernels/reduce.h"

#include <algorithm>

#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cpu {
namespace {

constexpr int64_t kReduceBlock = 32768;  // number of elements that are reduced to one partial result

/// Additional arguments of a loop: a center or a scale for each result (per_result), and a power.
struct ReduceArguments {
  Tensor per_result;
  double power = 0;
};
Loop plan_reduce(const char* name, const LoopTables& tables, const Tensor& x, Tensor& y, int64_t blocks, int64_t length,
                 const ReduceArguments& extra = {}) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  return plan_raw(name, select_body(tables, x.dtype(), name), x.dtype(), {y}, {x, extra.per_result},
                  {integer(n), integer(inner), integer(blocks), integer(length), real(extra.power)}, outer * blocks,
                  std::max<int64_t>(kReduceBlock / std::max<int64_t>(length * inner, 1), 1));
}

/// Reduces x to y in one pass or, if there are few results and many elements, in two passes.
void reduce(const char* name, const LoopTables& tables, const LoopTables& partial_tables,
            const LoopTables& finish_tables, DType partial_type, const Tensor& x, Tensor& y,
            const ReduceArguments& extra = {}) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  if (y.numel() == 0) return;
  const int64_t length = std::max<int64_t>(kReduceBlock / inner, 1);
  if (n <= 2 * length || outer >= 64) return run(plan_reduce(name, tables, x, y, 1, std::max<int64_t>(n, 1), extra));
  const int64_t blocks = (n + length - 1) / length;
  Tensor partial = core::empty({outer, blocks, inner}, partial_type, x.device());
  run(plan_reduce(name, partial_tables, x, partial, blocks, length, extra));
  run(plan_reduce(name, finish_tables, partial, y, 1, blocks));
}

}  // namespace

TANDEM_DECLARE_LOOP(sum)
TANDEM_DECLARE_LOOP(sum_wide)
TANDEM_DECLARE_LOOP(sum_partial)
TANDEM_DECLARE_LOOP(sum_finish_float16)
TANDEM_DECLARE_LOOP(sum_finish_bfloat16)
void sum(const Tensor& x, Tensor& y) {
  if (is_reduced_floating_point(x.dtype()) && y.dtype() == kFloat32)
    reduce("sum", loops::sum_partial, loops::sum_partial, loops::sum, kFloat32, x, y);
  else if (is_reduced_floating_point(x.dtype()))
    reduce("sum", loops::sum, loops::sum_partial,
           x.dtype() == kFloat16 ? loops::sum_finish_float16 : loops::sum_finish_bfloat16, kFloat32, x, y);
  else if (x.dtype() == kFloat32 && y.dtype() == kFloat64)
    reduce("sum", loops::sum_wide, loops::sum_wide, loops::sum, kFloat64, x, y);
  else
    reduce("sum", loops::sum, loops::sum, loops::sum, y.dtype(), x, y);
}
TANDEM_DECLARE_LOOP(sum_of_squares_about)
void sum_of_squares_about(const Tensor& x, const Tensor& center, Tensor& y) {
  reduce("sum_of_squares", loops::sum_of_squares_about, loops::sum_of_squares_about, loops::sum, kFloat64, x, y,
         {center});
}
TANDEM_DECLARE_LOOP(sum_of_powers)
void sum_of_powers(const Tensor& x, const Tensor& scale, double p, Tensor& y) {
  reduce("sum_of_powers", loops::sum_of_powers, loops::sum_of_powers, loops::sum, kFloat64, x, y, {scale, p});
}
TANDEM_DECLARE_LOOP(squared_error)
void squared_error(const Tensor& x, const Tensor& target, double divisor, Tensor& y) {
  const int64_t n = x.numel(), blocks = (n + kReduceBlock - 1) / kReduceBlock;
  const Tensor partial = core::empty({blocks}, y.dtype(), y.device());
  run(plan_raw("squared_error", select_body(loops::squared_error, x.dtype(), "squared_error"), x.dtype(), {partial},
               {x, target}, {integer(n), integer(blocks), integer(kReduceBlock), integer(0), integer(0)}, blocks, 1));
  struct FinalReduction {
    int64_t blocks;
    double divisor;
  };
  visit_floating("squared_error", y.dtype(), [&]<class T>() {
    const auto finish = [](const FinalReduction& f, const Loop& loop, int64_t, int64_t) {
      double total = 0;
      for (int64_t k = 0; k < f.blocks; ++k) total += static_cast<double>(data<const T>(loop, 1)[k]);
      data<T>(loop, 0)[0] = static_cast<T>(total / f.divisor);
    };
    run(plan_call("squared_error", y.dtype(), {y}, {partial}, FinalReduction{blocks, divisor}, finish, 1, 1));
  });
}
#define TANDEM_DEFINE_REDUCE_KERNEL(op) \
  TANDEM_DECLARE_LOOP(op)               \
  void op(const Tensor& x, Tensor& y) { reduce(#op, loops::op, loops::op, loops::op, y.dtype(), x, y); }
TANDEM_DEFINE_REDUCE_KERNEL(prod)
TANDEM_DEFINE_REDUCE_KERNEL(amax)
TANDEM_DEFINE_REDUCE_KERNEL(amin)
TANDEM_DEFINE_REDUCE_KERNEL(any)
TANDEM_DEFINE_REDUCE_KERNEL(all)

#define TANDEM_DEFINE_EXTREMUM_KERNEL(op)                                                 \
  TANDEM_DECLARE_LOOP(op)                                                                 \
  void op(const Tensor& x, Tensor& y, Tensor& index) {                                    \
    run(plan_raw(#op, select_body(loops::op, x.dtype(), #op), x.dtype(), {y, index}, {x}, \
                 {integer(x.size(1)), integer(x.size(2))}, y.numel(),                     \
                 kReduceBlock / std::max<int64_t>(x.size(1), 1)));                        \
  }
TANDEM_DEFINE_EXTREMUM_KERNEL(max_with_index)
TANDEM_DEFINE_EXTREMUM_KERNEL(min_with_index)

TANDEM_DECLARE_LOOP(cumsum)
TANDEM_DECLARE_LOOP(cumprod)
TANDEM_DECLARE_LOOP(logcumsumexp)
static void scan(const char* name, const LoopTables& tables, const Tensor& x, bool reverse, Tensor& y) {
  run(plan_raw(name, select_body(tables, x.dtype(), name), x.dtype(), {y}, {x},
               {integer(x.size(1)), integer(x.size(2)), integer(reverse)}, x.size(0) * x.size(2),
               kReduceBlock / std::max<int64_t>(x.size(1), 1)));
}
void cumsum(const Tensor& x, bool reverse, Tensor& y) { scan("cumsum", loops::cumsum, x, reverse, y); }
void cumprod(const Tensor& x, Tensor& y) { scan("cumprod", loops::cumprod, x, false, y); }
void logcumsumexp(const Tensor& x, Tensor& y) { scan("logcumsumexp", loops::logcumsumexp, x, false, y); }

}  // namespace tandem::kernels::cpu
