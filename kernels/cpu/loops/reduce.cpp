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

constexpr int64_t kRun = kLanes * 128;

/// The elements i < n that read(first, count) brings, where f(i) is the i-th of these: 32 lanes side by side, then the
/// lanes in pairs. Lane sums of at most 128 elements are folded at a time, which keeps the error of a float sum near
/// that of pairwise summation.
template <class Op, class A, class Read, class F> A reduce_run(int64_t n, Read read, F f) {
  A total = Op::template start<A>();
  for (int64_t from = 0; from < n; from += kRun) {
    const int64_t m = n - from < kRun ? n - from : kRun;
    read(from, m);
    A lane[kLanes];
    for (int k = 0; k < kLanes; ++k) lane[k] = Op::template start<A>();
    int64_t i = 0;
    for (; i + kLanes <= m; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lane[k] = Op::join(lane[k], f(i + k));
    for (int k = 0; i < m; ++i, ++k) {
      TANDEM_ONE_BY_ONE
      lane[k] = Op::join(lane[k], f(i));
    }
    total = Op::join(total, fold_lanes<Op, kLanes>(lane));
  }
  return total;
}

/// What the largest and the smallest element are looked for in. Integers keep their own type: the narrower it is, the
/// more of them fit a vector, and its largest and smallest numbers are what min and max of nothing begin with.
template <class T> struct KeptAsOf { using type = T; };
template <> struct KeptAsOf<Half> { using type = float; };
template <> struct KeptAsOf<BFloat16> { using type = float; };
template <class T> using KeptAs = typename KeptAsOf<T>::type;

/// Elements in memory: where they lie or, where they are of another type, a copy in `room`.
template <bool kDirect = false, class T> const T* elements(const Port& type, char* memory, int64_t n, T* room) {
  if (kDirect || type.direct) return reinterpret_cast<const T*>(memory);
  type.move(room, memory, n);
  return room;
}
/// Of map(element, its result's place), as A. Ports: of y, and of x, whose elements are read as T, and are T if
/// kDirect.
template <class Op, class A, class T, bool kDirect, class Map>
void reduce_mapped(const Loop& loop, int64_t begin, int64_t end, const Port* ports, Map map) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer, blocks = loop.scalars[2].integer,
                length = loop.scalars[3].integer;
  const Port out = ports[0], in = ports[1];  // copies, which no store can change
  char* const y = loop.operands[0].buffer->data + loop.operands[0].offset;
  char* const from_first = loop.operands[1].buffer->data + loop.operands[1].offset;
  T room[kRun];
  const T* x;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t outer = unit / blocks, first = unit % blocks * length;
    const int64_t count = n - first < length ? n - first : length, from = (outer * n + first) * inner;
    if (inner == 1) {
      const auto read = [&](int64_t i, int64_t m) {
        x = elements<kDirect>(in, from_first + (from + i) * in.size, m, room);
      };
      A total = reduce_run<Op, A>(count, read, [&](int64_t i) { return map(A(x[i]), outer); });
      if (out.direct)
        reinterpret_cast<A*>(y)[unit] = total;
      else
        out.move(&total, y + unit * out.size, 1);
      continue;
    }
    for (int64_t c = 0; c < inner; c += kTile) {  // columns side by side, row after row
      const int64_t width = inner - c < kTile ? inner - c : kTile;
      A acc[kTile];
      for (int64_t i = 0; i < width; ++i) acc[i] = Op::template start<A>();
      char* const top = from_first + (from + c) * in.size;
      const bool direct = kDirect || in.direct;
      const int64_t together = direct ? count : kRun / width;
      for (int64_t r = 0; r < count; r += together) {
        const int64_t rows = count - r < together ? count - r : together, stride = direct ? inner : width;
        char* const at = top + r * inner * in.size;
        for (int64_t j = 0; !direct && j < rows; ++j) in.move(room + j * width, at + j * inner * in.size, width);
        const T* row = direct ? reinterpret_cast<const T*>(at) : room;
        const auto at_column = [&](const T* from, int64_t i) { return map(A(from[i]), outer * inner + c + i); };
        int64_t j = 0;
        for (; kDirect && j + 2 <= rows; j += 2, row += 2 * stride)  // acc is loaded and stored half as often
          for (int64_t i = 0; i < width; ++i)
            acc[i] = Op::join(Op::join(acc[i], at_column(row, i)), at_column(row + stride, i));
        for (; j < rows; ++j, row += stride)
          for (int64_t i = 0; i < width; ++i) acc[i] = Op::join(acc[i], at_column(row, i));
      }
      A made[kTile];
      for (int64_t i = 0; i < width; ++i) made[i] = acc[i];  // nobody else sees acc, which may be in registers
      out.move(made, y + (unit * inner + c) * out.size, width);
    }
  }
}

/// One copy for all types that are read as T.
template <class Op, class A, class T>
TANDEM_ONE_COPY void reduce_as(const Loop& loop, int64_t begin, int64_t end, const Port* ports) {
  reduce_mapped<Op, A, T, __is_same(Op, Sum)>(loop, begin, end, ports, [](A x, int64_t) { return x; });
}
template <class T> struct InMemoryOf { using type = T; };
template <> struct InMemoryOf<bool> { using type = uint8_t; };  // 0 or 1
template <class T> using InMemory = typename InMemoryOf<T>::type;
/// A sum is so little work that a copy of the elements would show; other operations have one copy for all types that
/// are reduced as A.
template <class Op, class T, class A, class Out> void reduce(const Loop& loop, int64_t begin, int64_t end) {
  if constexpr (__is_same(Op, Sum)) {
    using Read = InMemory<T>;
    constexpr Port ports[] = {output<Out, A>(), input<Read, Read>()};
    reduce_as<Op, A, Read>(loop, begin, end, ports);
  } else {
    reduce_as<Op, A, A>(loop, begin, end, kPorts<Out, A, T, A>);
  }
}
/// Operands: y, x, center or none. Scalar 4: the power.
TANDEM_ONE_COPY void powers_as_float(const Loop& loop, int64_t begin, int64_t end, const Port* ports) {
  const Operand& given = loop.operands[2];
  const float* const center = given.buffer ? as<float>(given.buffer->data + given.offset) : nullptr;
  const float p = float(loop.scalars[4].real);
  const auto run = [&](auto map) { reduce_mapped<Sum, float, float, false>(loop, begin, end, ports, map); };
  if (p == 2 && center)
    run([=](float x, int64_t result) { return (x - center[result]) * (x - center[result]); });
  else if (p == 2)
    run([](float x, int64_t) { return x * x; });
  else
    run([=](float x, int64_t result) { return math::pow(math::abs(center ? x - center[result] : x), p); });
}
template <class T> void powers_body(const Loop& loop, int64_t begin, int64_t end) {
  powers_as_float(loop, begin, end, kPorts<float, float, T, float>);
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
    const T *x, *y;
    const auto read = [&](int64_t i, int64_t) { x = a + i, y = b + i; };
    reinterpret_cast<C*>(at(0))[unit] =
        reduce_run<Sum, C>(n - first < length ? n - first : length, read, [&](int64_t i) { return C(x[i]) * C(y[i]); });
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

#define TANDEM_KEEP_BODY(Op, T) reduce<Op, T, KeptAs<T>, T>

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
