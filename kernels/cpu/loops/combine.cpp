// Loops that combine tensors of several ranks or devices element by element. Operands: y, x0, x1, ... All are
// contiguous; y may be one of the inputs x. The inputs are combined in the order of the operands, and the value is
// rounded to the tensors' dtype after each step, as if it were stored in memory. Scalars: whether to multiply the
// result by a factor (never for integers), and the factor.
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct Sum {
  template <class C> static C combine(C a, C b) { return a + b; }
};
struct Product {
  template <class C> static C combine(C a, C b) { return a * b; }
};
struct Max {
  template <class C> static C combine(C a, C b) { return math::max(a, b); }
};
struct Min {
  template <class C> static C combine(C a, C b) { return math::min(a, b); }
};

/// Combines the inputs in type C. Half types are rounded after each step. Integers wrap only when the result is stored,
/// which gives the same result as wrapping after each step.
template <class Op, class C>
TANDEM_NOINLINE void combine_tiles(const Loop& loop, int64_t begin, int64_t end, const Converter* converters,
                                   bool is_reduced_floating_point) {
  const Converter out = converters[0], in = converters[1];
  const int64_t size = in.size;
  const auto at = [&](int k) { return loop.operands[k].buffer->data + loop.operands[k].offset; };
  const bool scaled = loop.scalars[0].integer;
  const C scale = C(loop.scalars[1].real);
  for (int64_t from = begin; from < end; from += kTileSize) {
    const int64_t n = end - from < kTileSize ? end - from : kTileSize;
    C total[kTileSize], scratch[kTileSize];
    uint16_t rounded[kTileSize];  // elements of a half type
    in.convert(total, at(1) + from * size, n);
    for (int k = 2; k < loop.operand_count; ++k) {
      const C* x = scratch;
      if (in.direct)
        x = as<C>(at(k)) + from;
      else
        in.convert(scratch, at(k) + from * size, n);
      TANDEM_IVDEP
      for (int64_t i = 0; i < n; ++i) total[i] = Op::combine(total[i], x[i]);
      if (!is_reduced_floating_point) continue;
      out.convert(total, reinterpret_cast<char*>(rounded), n);
      in.convert(total, reinterpret_cast<char*>(rounded), n);
    }
    if (math::kIsFloatingType<C> && scaled)
      for (int64_t i = 0; i < n; ++i) total[i] = total[i] * scale;
    out.convert(total, at(0) + from * size, n);
  }
}
template <class Op, class T> void combine(const Loop& loop, int64_t begin, int64_t end) {
  using C = Accumulate<T>;
  combine_tiles<Op, C>(loop, begin, end, kConverters<T, C, T, C>, __is_same(C, float) && !__is_same(T, float));
}
#define TANDEM_COMBINE_BODY(Op, T) combine<Op, T>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_ALL_TYPES_DISPATCH_TABLE(combine_sum, TANDEM_COMBINE_BODY, Sum)
TANDEM_ALL_TYPES_DISPATCH_TABLE(combine_product, TANDEM_COMBINE_BODY, Product)
TANDEM_ALL_TYPES_DISPATCH_TABLE(combine_max, TANDEM_COMBINE_BODY, Max)
TANDEM_ALL_TYPES_DISPATCH_TABLE(combine_min, TANDEM_COMBINE_BODY, Min)
