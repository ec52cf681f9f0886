// Rows of reductions over the middle of (outer, n, inner). Scalars: n, inner, blocks, block length. A unit of the range
// is one (outer, block), so that a long sum is cut by shape into partial results that a second pass reduces.
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

struct Sum {
  template <class A> static A start() { return A(0); }
  template <class A> static A join(A a, A b) { return math::add(a, b); }
};
struct Prod {
  template <class A> static A start() { return A(1); }
  template <class A> static A join(A a, A b) { return math::mul(a, b); }
};
template <class A> A lowest() {
  if constexpr (math::kFloating<A>)
    return A(-__builtin_inf());
  else if constexpr (A(-1) > A(0))
    return A(0);
  else if constexpr (sizeof(A) == 8)
    return A(-9223372036854775807LL - 1);
  else
    return A(-(int64_t(1) << (8 * sizeof(A) - 1)));
}
template <class A> A highest() {
  if constexpr (math::kFloating<A>)
    return A(__builtin_inf());
  else if constexpr (__is_same(A, bool))
    return true;
  else if constexpr (A(-1) > A(0))
    return A(-1);
  else if constexpr (sizeof(A) == 8)
    return A(9223372036854775807LL);
  else
    return A((int64_t(1) << (8 * sizeof(A) - 1)) - 1);
}
struct Max {
  template <class A> static A start() { return lowest<A>(); }
  template <class A> static A join(A a, A b) { return math::max(a, b); }
};
struct Min {
  template <class A> static A start() { return highest<A>(); }
  template <class A> static A join(A a, A b) { return math::min(a, b); }
};

constexpr int kLanes = 32;

/// f(i) for i < n: 32 lanes side by side, then the lanes in pairs. Lane sums of at most 128 elements are folded at a
/// time, which keeps the error of a float sum near that of pairwise summation.
template <class Op, class A, class F> A reduce_run(int64_t n, F f) {
  A total = Op::template start<A>();
  for (int64_t from = 0; from < n; from += kLanes * 128) {
    const int64_t m = n - from < kLanes * 128 ? n - from : kLanes * 128;
    A lane[kLanes];
    for (int k = 0; k < kLanes; ++k) lane[k] = Op::template start<A>();
    int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] = Op::join(lane[k], f(from + i + k));
    for (int k = 0; i < m; ++i, ++k) lane[k] = Op::join(lane[k], f(from + i));
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lane[k] = Op::join(lane[k], lane[k + width]);
    total = Op::join(total, lane[0]);
  }
  return total;
}

/// Of map(element, its result's place).
template <class Op, class T, class A, class Out, class Map>
void reduce_mapped(const Loop& loop, int64_t begin, int64_t end, Map map) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer, blocks = loop.scalars[2].integer,
                length = loop.scalars[3].integer;
  Out* const y = reinterpret_cast<Out*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  const T* const x = as<T>(loop.operands[1].buffer->data + loop.operands[1].offset);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t outer = unit / blocks, first = unit % blocks * length;
    const int64_t count = n - first < length ? n - first : length;
    const T* const from = x + (outer * n + first) * inner;
    if (inner == 1) {
      y[unit] = Out(reduce_run<Op, A>(count, [=](int64_t i) { return map(A(from[i]), outer); }));
      continue;
    }
    for (int64_t c = 0; c < inner; c += kTile) {  // columns side by side, row after row
      const int64_t width = inner - c < kTile ? inner - c : kTile;
      A acc[kTile];
      for (int64_t i = 0; i < width; ++i) acc[i] = Op::template start<A>();
      for (int64_t r = 0; r < count; ++r) {
        const T* const row = from + r * inner + c;
        for (int64_t i = 0; i < width; ++i) acc[i] = Op::join(acc[i], map(A(row[i]), outer * inner + c + i));
      }
      for (int64_t i = 0; i < width; ++i) y[unit * inner + c + i] = Out(acc[i]);
    }
  }
}

template <class Op, class T, class A, class Out> void reduce(const Loop& loop, int64_t begin, int64_t end) {
  reduce_mapped<Op, T, A, Out>(loop, begin, end, [](A x, int64_t) { return x; });
}
/// Operands: y, x, center or none. Scalar 4: the power.
template <class T> void powers_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const Operand& given = loop.operands[2];
  const C* const center = given.buffer ? as<C>(given.buffer->data + given.offset) : nullptr;
  const C p = C(loop.scalars[4].real);
  const auto run = [&](auto map) { reduce_mapped<Sum, T, C, C>(loop, begin, end, map); };
  if (p == C(2) && center)
    run([=](C x, int64_t result) { return (x - center[result]) * (x - center[result]); });
  else if (p == C(2))
    run([](C x, int64_t) { return x * x; });
  else
    run([=](C x, int64_t result) { return math::pow(math::abs(center ? x - center[result] : x), p); });
}

/// Operands: y (float beside half types), a, b. Scalars: n, blocks, block length, and the distances of the vectors of a
/// and of b.
template <class T> void dot_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const auto at = [&](int k) { return loop.operands[k].buffer->data + loop.operands[k].offset; };
  const int64_t n = number(0), blocks = number(1), length = number(2);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t vector = unit / blocks, first = unit % blocks * length;
    const T *const a = as<T>(at(1)) + vector * number(3) + first, *const b = as<T>(at(2)) + vector * number(4) + first;
    const int64_t count = n - first < length ? n - first : length;
    reinterpret_cast<C*>(at(0))[unit] = reduce_run<Sum, C>(count, [=](int64_t i) { return C(a[i]) * C(b[i]); });
  }
}

template <bool kMax, class T> void extremum(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  T* const y = reinterpret_cast<T*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  int64_t* const index = reinterpret_cast<int64_t*>(loop.operands[1].buffer->data + loop.operands[1].offset);
  const T* const x = as<T>(loop.operands[2].buffer->data + loop.operands[2].offset);
  for (int64_t unit = begin; unit < end; ++unit) {
    const T* const from = x + unit / inner * n * inner + unit % inner;
    C best = C(from[0]);
    int64_t at = 0;
    for (int64_t i = 1; i < n && best == best; ++i) {
      const C v = C(from[i * inner]);
      if (v != v || (kMax ? v > best : v < best)) best = v, at = i;
    }
    y[unit] = T(best);
    index[unit] = at;
  }
}

template <class T> void cumsum_body(const Loop& loop, int64_t begin, int64_t end) {
  using A = Accumulate<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  const bool reverse = loop.scalars[2].integer;
  using Out = T;
  Out* const y = reinterpret_cast<Out*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  const T* const x = as<T>(loop.operands[1].buffer->data + loop.operands[1].offset);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t start = unit / inner * n * inner + unit % inner;
    A total = A(0);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = start + (reverse ? n - 1 - i : i) * inner;
      total = math::add(total, A(x[at]));
      y[at] = Out(total);
    }
  }
}

#define TANDEM_SUM_BODY(Op, T) reduce<Op, T, Accumulate<T>, T>
#define TANDEM_KEEP_BODY(Op, T) reduce<Op, T, Upcast<T>, T>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// Sums of floating types stay in their type; of integers and bool they become int64.
#define TANDEM_SUM_ROW(op, Op)                                                                                       \
  TANDEM_ROW(op, reduce<Op, float, float, float>, reduce<Op, double, double, double>, reduce<Op, Half, float, Half>, \
             reduce<Op, BFloat16, float, BFloat16>, reduce<Op, int64_t, int64_t, int64_t>,                           \
             reduce<Op, int32_t, int64_t, int64_t>, reduce<Op, int16_t, int64_t, int64_t>,                           \
             reduce<Op, int8_t, int64_t, int64_t>, reduce<Op, uint8_t, int64_t, int64_t>,                            \
             reduce<Op, bool, int64_t, int64_t>)
TANDEM_SUM_ROW(sum, Sum)
TANDEM_SUM_ROW(prod, Prod)
// The first pass over half types keeps its partial sums in float.
TANDEM_ROW(sum_partial, nullptr, nullptr, reduce<Sum, Half, float, float>, reduce<Sum, BFloat16, float, float>)
TANDEM_ROW(sum_finish_float16, reduce<Sum, float, float, Half>)
TANDEM_ROW(sum_finish_bfloat16, reduce<Sum, float, float, BFloat16>)
TANDEM_ROW(sum_of_powers, nullptr, nullptr, powers_body<Half>, powers_body<BFloat16>)
TANDEM_FLOATING_ROW(dot, TANDEM_BY_TYPE, dot_body)
TANDEM_ALL_ROW(amax, TANDEM_KEEP_BODY, Max)
TANDEM_ALL_ROW(amin, TANDEM_KEEP_BODY, Min)
TANDEM_ROW(any, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
           reduce<Max, bool, bool, bool>)
TANDEM_ROW(all, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
           reduce<Min, bool, bool, bool>)
#define TANDEM_EXTREMUM_BODY(kMax, T) extremum<kMax, T>
TANDEM_ALL_ROW(max_with_index, TANDEM_EXTREMUM_BODY, true)
TANDEM_ALL_ROW(min_with_index, TANDEM_EXTREMUM_BODY, false)
TANDEM_ARITHMETIC_ROW(cumsum, TANDEM_BY_TYPE, cumsum_body)
