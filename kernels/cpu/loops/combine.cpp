// Rows that combine the parts of several ranks or devices, element by element, in the order of the operands: y, x0, x1,
// ...; contiguous, y may be one of the x. After each step the value has the tensors' type, as if the parts had been
// added one after the other in memory. Scalars: whether the result is multiplied (an integer one never is), by what.
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct Sum {
  template <class C> static C join(C a, C b) { return a + b; }
};
struct Max {
  template <class C> static C join(C a, C b) { return math::max(a, b); }
};
struct Min {
  template <class C> static C join(C a, C b) { return math::min(a, b); }
};

template <class Op, class T> void combine(const Loop& loop, int64_t begin, int64_t end) {
  using C = Accumulate<T>;
  const auto at = [&](int k) { return reinterpret_cast<T*>(loop.operands[k].buffer->data + loop.operands[k].offset); };
  const bool scaled = loop.scalars[0].integer;
  const C scale = C(loop.scalars[1].real);
  for (int64_t from = begin; from < end; from += kTile) {
    const int64_t n = end - from < kTile ? end - from : kTile;
    C total[kTile];
    const T* const first = at(1) + from;
    for (int64_t i = 0; i < n; ++i) total[i] = C(first[i]);
    for (int k = 2; k < loop.operand_count; ++k) {
      const T* const x = at(k) + from;
      for (int64_t i = 0; i < n; ++i) total[i] = C(T(Op::join(total[i], C(x[i]))));
    }
    T* const y = at(0) + from;
    if (math::kFloating<C> && scaled)
      for (int64_t i = 0; i < n; ++i) y[i] = T(total[i] * scale);
    else
      for (int64_t i = 0; i < n; ++i) y[i] = T(total[i]);
  }
}
#define TANDEM_COMBINE(Op, T) combine<Op, T>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_ALL_ROW(combine_sum, TANDEM_COMBINE, Sum)
TANDEM_ALL_ROW(combine_max, TANDEM_COMBINE, Max)
TANDEM_ALL_ROW(combine_min, TANDEM_COMBINE, Min)
