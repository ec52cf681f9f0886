// Planners of reductions, and sorting.
#include "tandem/kernels/reduce.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/core/thread_pool.h"
#include "tandem/kernels/cpu/planner.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"

namespace tandem::kernels::cpu {
namespace {

constexpr int64_t kBlock = 32768;  // elements of one partial result

Loop plan_reduce(const char* name, const LoopRows& rows, const Tensor& x, Tensor& y, int64_t blocks, int64_t length) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  return plan_raw(name, pick(rows, x.dtype(), name), x.dtype(), {y}, {x},
                  {integer(n), integer(inner), integer(blocks), integer(length)}, outer * blocks,
                  std::max<int64_t>(kBlock / std::max<int64_t>(length * inner, 1), 1));
}

/// One pass, or two when there are few results and many elements.
void reduce(const char* name, const LoopRows& rows, const LoopRows& partial_rows, const LoopRows& finish_rows,
            DType partial_type, const Tensor& x, Tensor& y) {
  const int64_t outer = x.size(0), n = x.size(1), inner = x.size(2);
  if (y.numel() == 0) return;
  const int64_t length = std::max<int64_t>(kBlock / inner, 1);
  if (n <= 2 * length || outer >= 64) return run(plan_reduce(name, rows, x, y, 1, std::max<int64_t>(n, 1)));
  const int64_t blocks = (n + length - 1) / length;
  Tensor partial = core::empty({outer, blocks, inner}, partial_type, x.device());
  run(plan_reduce(name, partial_rows, x, partial, blocks, length));
  run(plan_reduce(name, finish_rows, partial, y, 1, blocks));
}

}  // namespace

TANDEM_DECLARE_LOOP(sum)
TANDEM_DECLARE_LOOP(sum_partial)
TANDEM_DECLARE_LOOP(sum_finish_float16)
TANDEM_DECLARE_LOOP(sum_finish_bfloat16)
void sum(const Tensor& x, Tensor& y) {
  if (is_half(x.dtype()))
    reduce("sum", loops::sum, loops::sum_partial,
           x.dtype() == kFloat16 ? loops::sum_finish_float16 : loops::sum_finish_bfloat16, kFloat32, x, y);
  else
    reduce("sum", loops::sum, loops::sum, loops::sum, y.dtype(), x, y);
}
#define TANDEM_REDUCE_PLANNER(op) \
  TANDEM_DECLARE_LOOP(op)         \
  void op(const Tensor& x, Tensor& y) { reduce(#op, loops::op, loops::op, loops::op, y.dtype(), x, y); }
TANDEM_REDUCE_PLANNER(prod)
TANDEM_REDUCE_PLANNER(amax)
TANDEM_REDUCE_PLANNER(amin)
TANDEM_REDUCE_PLANNER(any)
TANDEM_REDUCE_PLANNER(all)

#define TANDEM_EXTREMUM_PLANNER(op)                                                                               \
  TANDEM_DECLARE_LOOP(op)                                                                                         \
  void op(const Tensor& x, Tensor& y, Tensor& index) {                                                            \
    run(plan_raw(#op, pick(loops::op, x.dtype(), #op), x.dtype(), {y, index}, {x},                                \
                 {integer(x.size(1)), integer(x.size(2))}, y.numel(), kBlock / std::max<int64_t>(x.size(1), 1))); \
  }
TANDEM_EXTREMUM_PLANNER(max_with_index)
TANDEM_EXTREMUM_PLANNER(min_with_index)

TANDEM_DECLARE_LOOP(cumsum)
void cumsum(const Tensor& x, bool reverse, Tensor& y) {
  run(plan_raw("cumsum", pick(loops::cumsum, x.dtype(), "cumsum"), x.dtype(), {y}, {x},
               {integer(x.size(1)), integer(x.size(2)), integer(reverse)}, x.size(0) * x.size(2),
               kBlock / std::max<int64_t>(x.size(1), 1)));
}

void sort(const Tensor& x, bool descending, Tensor& y, Tensor& index) {
  const int64_t rows = x.size(0), n = x.size(1);
  visit_dtype(x.dtype(), [&]<class T>() {
    using C = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
    const auto before = [](C a, C b) {  // a NaN counts as the largest
      if constexpr (std::is_floating_point_v<C>)
        return std::isnan(b) ? !std::isnan(a) : a < b;
      else
        return a < b;
    };
    parallel_for(rows, std::max<int64_t>(kBlock / std::max<int64_t>(n * 8, 1), 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const T* const from = x.data<T>() + r * n;
        int64_t* const at = index.data<int64_t>() + r * n;
        std::iota(at, at + n, int64_t(0));
        std::stable_sort(at, at + n, [&](int64_t i, int64_t j) {
          return descending ? before(C(from[j]), C(from[i])) : before(C(from[i]), C(from[j]));
        });
        for (int64_t i = 0; i < n; ++i) y.data<T>()[r * n + i] = from[at[i]];
      }
    });
  });
}

}  // namespace tandem::kernels::cpu
