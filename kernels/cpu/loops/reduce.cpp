// Loops of reductions over the middle dimension of (outer, n, inner). They loop over pairs (outer, block): a long
// reduction is divided into blocks, by shape alone, and a second pass reduces the results of the blocks. Scalars: n,
// inner, number of blocks, block length.
#include "tandem/kernels/cpu/loops/lanes.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

// Reduction operations, on elements or on vectors. Integers are unsigned in sums and products, so that overflow wraps.
struct Sum {
  static constexpr bool kOrderMatters = true;
  template <class A> static A identity() { return A(0); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return a + b; }
};
struct Prod {
  static constexpr bool kOrderMatters = true;
  template <class A> static A identity() { return A(1); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return a * b; }
};
template <class A> A lowest() {
  if constexpr (math::kIsFloatingType<A>)
    return A(-__builtin_inf());
  else if constexpr (A(-1) > A(0))
    return A(0);
  else if constexpr (sizeof(A) == 8)
    return A(-9223372036854775807LL - 1);
  else
    return A(-(int64_t(1) << (8 * sizeof(A) - 1)));
}
template <class A> A highest() {
  if constexpr (math::kIsFloatingType<A>)
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
  static constexpr bool kOrderMatters = false;
  template <class A> static A identity() { return lowest<A>(); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return propagate_nan(b > a ? b : a, b); }
};
struct Min {
  static constexpr bool kOrderMatters = false;
  template <class A> static A identity() { return highest<A>(); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return propagate_nan(b < a ? b : a, b); }
};

constexpr int kLanes = 32;

constexpr int64_t kMaxRunLength = kLanes * 128;

/// Reduces f(i) for i < n in 32 lanes, and then joins the lanes in pairs. n is at most kMaxRunLength, so that each lane
/// sums at most 128 elements, which keeps the error of a float sum near the error of pairwise summation.
template <class Op, class A, class F> A reduce_in_lanes(int64_t n, F f) {
  A lane[kLanes];
  for (int k = 0; k < kLanes; ++k) lane[k] = Op::template identity<A>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] = Op::combine(lane[k], f(i + k));
  for (int k = 0; i < n; ++i, ++k) {
    TANDEM_NO_VECTORIZE
    lane[k] = Op::combine(lane[k], f(i));
  }
  return reduce_lane_array<Op, kLanes>(lane);
}

/// Type in which the largest and the smallest element are computed. Integers keep their own type, because more elements
/// of a narrow type fit into a vector, and because max and min of no elements are the limits of that type.
template <class T> struct ExtremumTypeOf { using type = T; };
template <> struct ExtremumTypeOf<Half> { using type = float; };
template <> struct ExtremumTypeOf<BFloat16> { using type = float; };
template <> struct ExtremumTypeOf<bool> { using type = uint8_t; };
template <class T> using ExtremumType = typename ExtremumTypeOf<T>::type;

template <class T> struct MemoryTypeOf { using type = T; };
template <> struct MemoryTypeOf<bool> { using type = uint8_t; };  // 0 or 1
template <> struct MemoryTypeOf<int64_t> { using type = uint64_t; };

/// reduce_row() reduces x[0, n), with n at most kMaxRunLength, and reduce_converted_columns() reduces columns. If T is
/// not A, they use plain loops, because gcc converts faster in loops than in vectors.
template <class Op, class A, class T> A reduce_row(const T* x, int64_t n) {
  if constexpr (__is_same(T, A))
    return reduce_lanes<Op, A>(x, n);
  else
    return reduce_in_lanes<Op, A>(n, [=](int64_t i) { return A(x[i]); });
}
template <class Op, class A, class T>
void reduce_converted_columns(const T* x, int64_t rows, int64_t stride, int64_t width, A* results) {
  if constexpr (__is_same(T, A)) {
    reduce_columns<Op, A>(x, rows, stride, width, results);
  } else {
    A column[kTileSize];
    for (int64_t i = 0; i < width; ++i) column[i] = Op::template identity<A>();
    // Taking two rows at a time halves the loads and stores of `column`.
    for (; rows >= 2; rows -= 2, x += 2 * stride)
      for (int64_t i = 0; i < width; ++i) column[i] = Op::combine(Op::combine(column[i], A(x[i])), A(x[stride + i]));
    for (; rows > 0; --rows, x += stride)
      for (int64_t i = 0; i < width; ++i) column[i] = Op::combine(column[i], A(x[i]));
    for (int64_t i = 0; i < width; ++i) results[i] = column[i];
  }
}

/// Reduces columns in pieces of kTall rows, which keeps the error of a float sum of many rows small.
template <class Op, class A, class T>
void reduce_long_columns(const T* x, int64_t rows, int64_t stride, int64_t width, A* results) {
  constexpr int64_t kTall = 128;
  reduce_converted_columns<Op, A>(x, rows < kTall ? rows : kTall, stride, width, results);
  for (int64_t r = kTall; r < rows; r += kTall) {
    A part[kTileSize];
    reduce_converted_columns<Op, A>(x + r * stride, rows - r < kTall ? rows - r : kTall, stride, width, part);
    for (int64_t i = 0; i < width; ++i) results[i] = Op::combine(results[i], part[i]);
  }
}

/// Reduces units [begin, end). A unit is a pair (outer, block). converters[0] converts y, and converters[1]
/// converts x, which is read as T: in place or, if kConverted and its type in memory is not T, from a converted copy.
template <class Op, class A, class T, bool kConverted>
void reduce_units(const Loop& loop, int64_t begin, int64_t end, const Converter* converters) {
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer, blocks = loop.scalars[2].integer,
                length = loop.scalars[3].integer;
  // local copies, so that the compiler knows that no store to y changes them
  const Converter out = converters[0], in = converters[1];
  const bool direct = !kConverted || in.direct;
  char* const y = loop.operands[0].buffer->data + loop.operands[0].offset;
  char* const x = loop.operands[1].buffer->data + loop.operands[1].offset;
  [[maybe_unused]] T scratch[kConverted ? kMaxRunLength : 1];
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t outer = unit / blocks, first = unit % blocks * length;
    const int64_t count = n - first < length ? n - first : length;
    char* const top = x + (outer * n + first) * inner * in.size;
    if (inner == 1) {
      A total = Op::template identity<A>();
      for (int64_t from = 0; from < count; from += kMaxRunLength) {
        const int64_t m = count - from < kMaxRunLength ? count - from : kMaxRunLength;
        char* const at = top + from * in.size;
        if constexpr (kConverted)
          if (!direct) in.convert(scratch, at, m);
        total = Op::combine(total, reduce_row<Op, A>(direct ? reinterpret_cast<const T*>(at) : scratch, m));
      }
      if (out.direct)
        reinterpret_cast<A*>(y)[unit] = total;
      else
        out.convert(&total, y + unit * out.size, 1);
      continue;
    }
    for (int64_t c = 0; c < inner; c += kTileSize) {  // columns side by side
      const int64_t width = inner - c < kTileSize ? inner - c : kTileSize;
      char* const at = top + c * in.size;
      A results[kTileSize];
      if (direct) reduce_long_columns<Op, A>(reinterpret_cast<const T*>(at), count, inner, width, results);
      if constexpr (kConverted) {
        const int64_t together = kMaxRunLength / width;
        for (int64_t i = 0; !direct && i < width; ++i) results[i] = Op::template identity<A>();
        for (int64_t r = 0; !direct && r < count; r += together) {
          const int64_t rows = count - r < together ? count - r : together;
          for (int64_t j = 0; j < rows; ++j) in.convert(scratch + j * width, at + (r + j) * inner * in.size, width);
          A part[kTileSize];
          reduce_converted_columns<Op, A>(scratch, rows, width, width, part);
          for (int64_t i = 0; i < width; ++i) results[i] = Op::combine(results[i], part[i]);
        }
      }
      out.convert(results, y + (unit * inner + c) * out.size, width);
    }
  }
}

template <bool kFirst, class A, class B> struct ConditionalOf { using type = A; };
template <class A, class B> struct ConditionalOf<false, A, B> { using type = B; };
template <bool kFirst, class A, class B> using Conditional = typename ConditionalOf<kFirst, A, B>::type;
/// Calls reduce_units(). Not inlined, so that one copy serves all types that are reduced as A.
template <class Op, class A, class T>
TANDEM_NOINLINE void reduce_as(const Loop& loop, int64_t begin, int64_t end, const Converter* converters) {
  constexpr bool kConverted =
      !__is_same(Op, Sum) && (__is_same(A, float) || (__is_same(Op, Prod) && !math::kIsFloatingType<A>));
  reduce_units<Op, A, T, kConverted>(loop, begin, end, converters);
}
/// Reduces elements of type T in type A, and stores results of type Out. A sum reads x in place, because it is so
/// little work that a copy would take noticeable time.
template <class Op, class T, class A, class Out> void reduce(const Loop& loop, int64_t begin, int64_t end) {
  using Memory = typename MemoryTypeOf<T>::type;
  using Read = Conditional<__is_same(Op, Sum), Memory, A>;
  constexpr Converter converters[] = {output_converter<Out, A>(), input_converter<Memory, Read>()};
  reduce_as<Op, A, Read>(loop, begin, end, converters);
}
struct Product {
  template <class C> static C of(C a, C b) { return a * b; }
};
struct SquaredDistance {
  template <class C> static C of(C a, C b) { return (a - b) * (a - b); }
};
/// Sums F(a, b) over pairs of elements of two vectors, in blocks. Operands: y (float for half types), a, b, each a
/// batch of vectors. Scalars: n, number of blocks, block length, and the strides between vectors in a and in b.
template <class F, class T> void pairwise_reduce_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = OpMath<T>;
  const auto number = [&](int i) { return loop.scalars[i].integer; };
  const auto at = [&](int k) { return loop.operands[k].buffer->data + loop.operands[k].offset; };
  const int64_t n = number(0), blocks = number(1), length = number(2);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t vector = unit / blocks, first = unit % blocks * length;
    const T *const a = as<T>(at(1)) + vector * number(3) + first, *const b = as<T>(at(2)) + vector * number(4) + first;
    const int64_t count = n - first < length ? n - first : length;
    C total = C(0);
    for (int64_t from = 0; from < count; from += kMaxRunLength) {
      const T *const x = a + from, *const y = b + from;
      total += reduce_in_lanes<Sum, C>(count - from < kMaxRunLength ? count - from : kMaxRunLength,
                                       [=](int64_t i) { return F::of(C(x[i]), C(y[i])); });
    }
    reinterpret_cast<C*>(at(0))[unit] = total;
  }
}

/// Minimum that ignores NaN.
struct NanIgnoringMin {
  static constexpr bool kOrderMatters = false;
  template <class A> static A identity() { return A(__builtin_inf()); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return b < a ? b : a; }
};
/// Returns the first i for which is_it(x[i]). Such an i must exist.
template <class T, class F> TANDEM_HD int64_t find_first(const T* x, int64_t n, F is_it) {
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    int32_t found = 0;
    for (int64_t k = 0; k < 64; ++k) found |= is_it(x[i + k]);
    if (found) break;
  }
  while (!is_it(x[i])) ++i;
  return i;
}
/// Returns the position of the maximum (or minimum) of contiguous floats. Vectors find the value first, and then its
/// position.
template <bool kMax, class T> TANDEM_NOINLINE int64_t index_of_extremum(const T* x, int64_t n) {
  const T best = reduce_lanes<Conditional<kMax, NanIgnoringMax, NanIgnoringMin>, T>(x, n);
  int32_t nans = 0;
  for (int64_t i = 0; i < n; ++i) nans |= x[i] != x[i];
  if (nans) return find_first(x, n, [](T v) { return v != v; });
  return find_first(x, n, [=](T v) { return v == best; });
}
template <bool kMax, class T> void extremum_with_index(const Loop& loop, int64_t begin, int64_t end) {
  using C = OpMath<T>;
  const int64_t n = loop.scalars[0].integer, inner = loop.scalars[1].integer;
  T* const y = reinterpret_cast<T*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  int64_t* const index = reinterpret_cast<int64_t*>(loop.operands[1].buffer->data + loop.operands[1].offset);
  const T* const x = as<T>(loop.operands[2].buffer->data + loop.operands[2].offset);
  if constexpr (__is_same(T, float) || __is_same(T, double)) {
    for (int64_t unit = begin; inner == 1 && unit < end; ++unit) {
      const T* const from = x + unit * n;
      index[unit] = index_of_extremum<kMax>(from, n);
      y[unit] = from[index[unit]];
    }
    if (inner == 1) return;
  }
  for (int64_t unit = begin; unit < end; ++unit) {
    const T* const from = x + unit / inner * n * inner + unit % inner;
    C best = C(from[0]);
    int64_t at = 0;
    for (int64_t i = 1; i < n && best == best; ++i) {
      const C v = C(from[i * inner]);
      if (v != v || (kMax ? v > best : v < best)) {
        best = v;
        at = i;
      }
    }
    y[unit] = T(best);
    index[unit] = at;
  }
}

#define TANDEM_EXTREMUM_VALUE_BODY(Op, T) reduce<Op, T, ExtremumType<T>, T>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// Defines the dispatch table (loop bodies by dtype) of a sum or product. The result has the dtype of the input; for
// integers and bool it is int64.
#define TANDEM_SUM_DISPATCH_TABLE(op, Op)                                                               \
  TANDEM_DISPATCH_TABLE(op, reduce<Op, float, float, float>, reduce<Op, double, double, double>,        \
                        reduce<Op, Half, float, Half>, reduce<Op, BFloat16, float, BFloat16>,           \
                        reduce<Op, int64_t, uint64_t, int64_t>, reduce<Op, int32_t, uint64_t, int64_t>, \
                        reduce<Op, int16_t, uint64_t, int64_t>, reduce<Op, int8_t, uint64_t, int64_t>,  \
                        reduce<Op, uint8_t, uint64_t, int64_t>, reduce<Op, bool, uint64_t, int64_t>)
TANDEM_SUM_DISPATCH_TABLE(sum, Sum)
TANDEM_DISPATCH_TABLE(sum_wide, reduce<Sum, float, double, double>)
TANDEM_SUM_DISPATCH_TABLE(prod, Prod)
// Dispatch table (loop bodies by dtype) of a sum's first pass over half types, which keeps its partial sums in float.
TANDEM_DISPATCH_TABLE(sum_partial, nullptr, nullptr, reduce<Sum, Half, float, float>,
                      reduce<Sum, BFloat16, float, float>)
TANDEM_DISPATCH_TABLE(sum_finish_float16, reduce<Sum, float, float, Half>)
TANDEM_DISPATCH_TABLE(sum_finish_bfloat16, reduce<Sum, float, float, BFloat16>)
#define TANDEM_PAIRWISE_REDUCE_BODY(F, T) pairwise_reduce_body<F, T>
TANDEM_FLOATING_DISPATCH_TABLE(dot, TANDEM_PAIRWISE_REDUCE_BODY, Product)
TANDEM_DISPATCH_TABLE(squared_error, pairwise_reduce_body<SquaredDistance, float>,
                      pairwise_reduce_body<SquaredDistance, double>)
TANDEM_ALL_TYPES_DISPATCH_TABLE(amax, TANDEM_EXTREMUM_VALUE_BODY, Max)
TANDEM_ALL_TYPES_DISPATCH_TABLE(amin, TANDEM_EXTREMUM_VALUE_BODY, Min)
TANDEM_DISPATCH_TABLE(any, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                      reduce<Max, bool, uint8_t, bool>)
TANDEM_DISPATCH_TABLE(all, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                      reduce<Min, bool, uint8_t, bool>)
#define TANDEM_EXTREMUM_INDEX_BODY(kMax, T) extremum_with_index<kMax, T>
TANDEM_ALL_TYPES_DISPATCH_TABLE(max_with_index, TANDEM_EXTREMUM_INDEX_BODY, true)
TANDEM_ALL_TYPES_DISPATCH_TABLE(min_with_index, TANDEM_EXTREMUM_INDEX_BODY, false)
