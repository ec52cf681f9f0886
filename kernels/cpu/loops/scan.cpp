// Running sums, running products and running ln(sum e^x) along the middle dimension of (outer, n, inner). The loops run
// over pairs (outer, inner). Floating types are computed in double, because a float sum of ones stops growing at 2^24.
// Scalars: n, inner, whether to start from the end. Operands: y, x.
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <bool kIsFloatingType> struct RunningOf { using type = double; };
template <> struct RunningOf<false> { using type = int64_t; };

struct RunningSum {
  template <class A> static A identity() { return A(0); }
  template <class A> static A combine(A a, A b) { return math::add(a, b); }
};
struct RunningProduct {
  template <class A> static A identity() { return A(1); }
  template <class A> static A combine(A a, A b) { return math::mul(a, b); }
};
/// ln(e^a + e^b)
struct RunningLogarithm {
  template <class A> static A identity() { return A(-__builtin_inf()); }
  template <class A> static A combine(A a, A b) {
    if (a != a || b != b) return a + b;
    const A high = a > b ? a : b, low = a > b ? b : a;
    if (low == identity<A>() || high == A(__builtin_inf()))
      return high + A(0);  // adding 0 turns -0 into 0, as in a sum
    return high + math::log1p(math::exp(low - high));
  }
};

template <class Op, class T> void scan_body(const Loop& loop, int64_t begin, int64_t end) {
  using A = typename RunningOf<math::kIsFloatingType<Accumulate<T>>>::type;
  using C = OpMath<T>;  // half types are converted through float
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const bool reverse = loop.scalars[2].integer;
  T* const y = reinterpret_cast<T*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  const T* const x = as<T>(loop.operands[1].buffer->data + loop.operands[1].offset);
  for (int64_t unit = begin; unit < end;) {
    const int64_t column = unit % inner, left = math::min(end - unit, inner - column);
    const int64_t width = left < kTileSize ? left : kTileSize, start = unit / inner * n * inner + column;
    const auto offset_of = [=](int64_t i) { return start + (reverse ? n - 1 - i : i) * inner; };
    unit += width;
    if (width > 1) {  // adjacent columns
      A totals[kTileSize];
      for (int64_t c = 0; c < width; ++c) totals[c] = Op::template identity<A>();
      for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < width; ++c) {
          totals[c] = Op::combine(totals[c], A(C(x[offset_of(i) + c])));
          y[offset_of(i) + c] = T(C(totals[c]));
        }
      continue;
    }
    A total = Op::template identity<A>();
    int64_t i = 0;
    // Adds four elements at a time, so that only one addition in four waits for the previous total.
    if constexpr (__is_same(Op, RunningSum) && __is_same(C, float))
      for (; i + 4 <= n; i += 4) {
        const A first = A(C(x[offset_of(i)])), second = A(C(x[offset_of(i + 1)])), third = A(C(x[offset_of(i + 2)])),
                fourth = A(C(x[offset_of(i + 3)]));
        const A two = first + second, three = two + third, four = two + (third + fourth);
        y[offset_of(i)] = T(C(total + first));
        y[offset_of(i + 1)] = T(C(total + two));
        y[offset_of(i + 2)] = T(C(total + three));
        y[offset_of(i + 3)] = T(C(total + four));
        total += four;
      }
    for (; i < n; ++i) {
      total = Op::combine(total, A(C(x[offset_of(i)])));
      y[offset_of(i)] = T(C(total));
    }
  }
}

#define TANDEM_SCAN_BODY(Op, T) scan_body<Op, T>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_NUMERIC_DISPATCH_TABLE(cumsum, TANDEM_SCAN_BODY, RunningSum)
TANDEM_NUMERIC_DISPATCH_TABLE(cumprod, TANDEM_SCAN_BODY, RunningProduct)
TANDEM_FLOATING_DISPATCH_TABLE(logcumsumexp, TANDEM_SCAN_BODY, RunningLogarithm)
