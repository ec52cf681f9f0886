// Bodies of elementwise loops, and the macros that put them into tables by dtype. Only files of loops/ include this
// header.
#pragma once
#include "tandem/core/loop/loop.h"
#include "tandem/kernels/cpu/loops/nontemporal.h"
#include "tandem/kernels/functors.h"
#include "tandem/kernels/types.h"

#if defined(__clang__)
#define TANDEM_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define TANDEM_NO_UNROLL _Pragma("clang loop unroll(disable)")
#define TANDEM_NOINLINE __attribute__((noinline))
#else
#define TANDEM_IVDEP _Pragma("GCC ivdep")
#define TANDEM_NO_UNROLL _Pragma("GCC unroll 1")
// noclone: keeps gcc from compiling a copy of the function for each constant argument
#define TANDEM_NOINLINE __attribute__((noinline, noclone))
#endif
// Prevents vectorisation of a loop that is a small part of the work. Vectorised code with checks for overlapping
// operands would take kilobytes.
#define TANDEM_NO_VECTORIZE asm volatile("");

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {  // internal linkage: an object file exports only its tables of loop bodies

constexpr int64_t kTileSize = 256;

/// Reduces kLanes lanes to one: joins each lane of the first half with its counterpart in the second half until one
/// lane is left.
template <class Op, int kLanes, class A> TANDEM_HD A reduce_lane_array(A* lane) {
  if constexpr (kLanes == 1) {
    return lane[0];
  } else if constexpr (__is_same(A, float)) {  // if kHalf is a constant, the lanes stay in registers
    constexpr int kHalf = kLanes / 2;
    for (int k = 0; k < kHalf; ++k) lane[k] = Op::combine(lane[k], lane[k + kHalf]);
    return reduce_lane_array<Op, kHalf>(lane);
  } else {  // for other types a constant number of lanes is slower, because gcc splits the array
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lane[k] = Op::combine(lane[k], lane[k + width]);
    return lane[0];
  }
}

/// scalar_as() converts a scalar of the loop to C. make_functor() creates a functor from the first scalars, one for
/// each member of the functor.
template <class C> C scalar_as(const LoopScalar& s) {
  if constexpr (math::kIsFloatingType<C>)
    return C(s.real);
  else
    return C(s.integer);
}
template <class F, class C> F make_functor(const LoopScalar* s) {
  if constexpr (requires(C c) { F{c, c, c}; })
    return F{scalar_as<C>(s[0]), scalar_as<C>(s[1]), scalar_as<C>(s[2])};
  else if constexpr (requires(C c) { F{c, c}; })
    return F{scalar_as<C>(s[0]), scalar_as<C>(s[1])};
  else if constexpr (requires(C c) { F{c}; })
    return F{scalar_as<C>(s[0])};
  else
    return F{};
}

/// Walks over [begin, end) of the flattened extents row by row, and calls row(count, pointers into the operands) for
/// each row or part of a row.
template <int Count, class Row> void for_rows(const Loop& loop, int64_t begin, int64_t end, Row row) {
  const int inner = loop.extents.rank - 1;
  const int64_t width = loop.extents.size[inner];
  char* base[Count];
  for (int k = 0; k < Count; ++k) base[k] = loop.operands[k].buffer->data + loop.operands[k].offset;
  int64_t at[kMaxDims] = {}, rest = begin / width, column = begin % width;
  for (int d = inner - 1; d >= 0; --d) {
    at[d] = rest % loop.extents.size[d];
    rest /= loop.extents.size[d];
  }
  for (int k = 0; k < Count; ++k)
    for (int d = 0; d < inner; ++d) base[k] += at[d] * loop.operands[k].strides[d];
  while (begin < end) {
    const int64_t left = width - column, count = left < end - begin ? left : end - begin;
    char* p[Count];
    for (int k = 0; k < Count; ++k) p[k] = base[k] + column * loop.operands[k].strides[inner];
    row(count, p);
    begin += count;
    column = 0;
    for (int d = inner - 1; d >= 0; --d) {  // carry, like an odometer
      for (int k = 0; k < Count; ++k) base[k] += loop.operands[k].strides[d];
      if (++at[d] < loop.extents.size[d]) break;
      at[d] = 0;
      for (int k = 0; k < Count; ++k) base[k] -= loop.operands[k].strides[d] * loop.extents.size[d];
    }
  }
}

// A strip (the inner loop over contiguous elements) computes in Accumulate<T>, so that a functor is compiled for three
// types instead of ten.

template <class T> const T* as(const char* p) { return reinterpret_cast<const T*>(p); }

/// Buffer for a tile of elements, either in the type in which they are computed or in their type in memory.
union alignas(64) Tile {
  float float32[kTileSize];
  double float64[kTileSize];
  int64_t int64[kTileSize];
  char bytes[kTileSize * 8];
};

/// Copies n elements between memory, where they are `stride` bytes apart, and a tile, where they are contiguous. T
/// stands for any type of the same size, because conversions have a separate loop over contiguous elements.
template <class T> TANDEM_HD void gather_bits(const char* memory, int64_t stride, char* tile, int64_t n) {
  typedef T Bits __attribute__((may_alias));
  Bits* const to = reinterpret_cast<Bits*>(tile);
  if (stride == 0) {
    const Bits value = *reinterpret_cast<const Bits*>(memory);
    for (int64_t i = 0; i < n; ++i) to[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) {
      TANDEM_NO_VECTORIZE
      to[i] = *reinterpret_cast<const Bits*>(memory + i * stride);
    }
  }
}
template <class T> TANDEM_HD void scatter_bits(const char* tile, char* memory, int64_t stride, int64_t n) {
  typedef T Bits __attribute__((may_alias));
  for (int64_t i = 0; i < n; ++i) {
    TANDEM_NO_VECTORIZE
    *reinterpret_cast<Bits*>(memory + i * stride) = reinterpret_cast<const Bits*>(tile)[i];
  }
}
[[maybe_unused]] TANDEM_NOINLINE void gather(int64_t size, const char* memory, int64_t stride, char* tile, int64_t n) {
  size == 1   ? gather_bits<uint8_t>(memory, stride, tile, n)
  : size == 2 ? gather_bits<uint16_t>(memory, stride, tile, n)
  : size == 4 ? gather_bits<uint32_t>(memory, stride, tile, n)
              : gather_bits<uint64_t>(memory, stride, tile, n);
}
[[maybe_unused]] TANDEM_NOINLINE void scatter(int64_t size, const char* tile, char* memory, int64_t stride, int64_t n) {
  size == 1   ? scatter_bits<uint8_t>(tile, memory, stride, n)
  : size == 2 ? scatter_bits<uint16_t>(tile, memory, stride, n)
  : size == 4 ? scatter_bits<uint32_t>(tile, memory, stride, n)
              : scatter_bits<uint64_t>(tile, memory, stride, n);
}

/// Converts contiguous elements between their type in memory and the type in which a tile holds them. size: bytes of an
/// element in memory. direct: both types are the same, so that no tile is needed.
struct Converter {
  int64_t size;
  bool direct;
  void (*convert)(void* tile, char* memory, int64_t n);
};
template <class T, class C> void load(void* tile, char* memory, int64_t n) {
  C* const to = static_cast<C*>(tile);
  for (int64_t i = 0; i < n; ++i) to[i] = C(as<T>(memory)[i]);
}
template <class T, class C> void store(void* tile, char* memory, int64_t n) {
  const C* const from = static_cast<const C*>(tile);
  for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(memory)[i] = T(from[i]);
}
template <class T, class C> constexpr Converter input_converter() { return {sizeof(T), __is_same(T, C), load<T, C>}; }
template <class T, class C> constexpr Converter output_converter() { return {sizeof(T), __is_same(T, C), store<T, C>}; }

/// Computes n contiguous elements of y. y may be equal to one of the inputs x, but does not overlap an input in any
/// other way; the planner ensures this.
using Strip = void (*)(const LoopScalar* scalars, void* y, const void* const* x, int64_t n);

/// Computes a large y and writes it past the cache (with non-temporal stores), unless y is also an input. Pieces are
/// small, so that the results of one piece are written while the next piece is read; pieces of 1 KiB and more gain
/// nothing. `stride`: bytes per element of y and of each x.
[[maybe_unused]] TANDEM_NOINLINE void run_strips_nontemporal(const Loop& loop, Strip strip, int inputs, char* y,
                                                             const void** x, const int64_t* stride, int64_t n) {
  constexpr int64_t kPiece = 64;
  bool apart = reinterpret_cast<intptr_t>(y) % 16 == 0;
  for (int k = 0; k < inputs; ++k) apart = apart && x[k] != y;
  int64_t done = 0;
  for (alignas(64) char made[kPiece * 8]; apart && done + kPiece <= n; done += kPiece) {
    strip(loop.scalars, made, x, kPiece);
    nontemporal_store(y + done * stride[0], made, kPiece * stride[0]);
    for (int k = 0; k < inputs; ++k) x[k] = static_cast<const char*>(x[k]) + kPiece * stride[k + 1];
  }
  nontemporal_fence();
  strip(loop.scalars, y + done * stride[0], x, n - done);
}

/// Calls `strip` for long contiguous runs if possible, otherwise for tiles. One copy of run_strips() serves all
/// functors and types, at the cost of a call through a pointer for each row or tile. strip_for_scalar is null, or the
/// strip to call if the last input is one number per row (a column that is broadcast).
template <int Inputs>
TANDEM_NOINLINE void run_strips(const Loop& loop, int64_t begin, int64_t end, Strip strip, const Converter* converters,
                                Strip strip_for_scalar = nullptr) {
  constexpr int kCount = Inputs + 1;
  int64_t stride[kCount];
  bool direct[kCount], all_direct = true;
  for (int k = 0; k < kCount; ++k) {
    stride[k] = loop.operands[k].strides[loop.extents.rank - 1];
    direct[k] = converters[k].direct && stride[k] == converters[k].size;
    all_direct = all_direct && direct[k];
  }
  // The usual case. The small tiles of a LoopChain (elementwise loops fused into one pass) also take this path.
  if (all_direct && loop.extents.rank == 1) {
    const auto at = [&](int k) {
      const Operand& o = loop.operands[k];
      return o.buffer->data + o.offset + begin * stride[k];
    };
    const void* x[Inputs];
    for (int k = 0; k < Inputs; ++k) x[k] = at(k + 1);
    if (loop.operands[0].bytes >= kNontemporalBytes)
      return run_strips_nontemporal(loop, strip, Inputs, at(0), x, stride, end - begin);
    return strip(loop.scalars, at(0), x, end - begin);
  }
  // Rows are contiguous in all operands, except that the last input may be one number per row.
  const bool number = strip_for_scalar && converters[Inputs].direct && stride[Inputs] == 0;
  bool plain = direct[Inputs] || number;
  for (int k = 0; k < Inputs; ++k) plain = plain && direct[k];
  if (plain && loop.extents.rank > 1) {
    const Strip chosen = number ? strip_for_scalar : strip;
    return for_rows<kCount>(loop, begin, end, [&](int64_t n, char** p) {
      const void* x[Inputs];
      for (int k = 0; k < Inputs; ++k) x[k] = p[k + 1];
      chosen(loop.scalars, p[0], x, n);
    });
  }
  for_rows<kCount>(loop, begin, end, [&](int64_t n, char** p) {
    Tile tile[kCount], strided[kCount];
    const void* x[Inputs];
    const int64_t step = all_direct ? n : kTileSize;
    for (int64_t done = 0; done < n; done += step) {
      const int64_t m = n - done < step ? n - done : step;
      for (int k = 1; k < kCount; ++k) {
        char* at = p[k] + done * stride[k];
        x[k - 1] = direct[k] ? at : static_cast<const void*>(converters[k].direct ? &strided[k] : &tile[k]);
        if (direct[k] || (stride[k] == 0 && done > 0)) continue;
        if (stride[k] != converters[k].size) {
          gather(converters[k].size, at, stride[k], strided[k].bytes, m);
          at = strided[k].bytes;
        }
        if (!converters[k].direct) converters[k].convert(&tile[k], at, m);
      }
      char* const to = p[0] + done * stride[0];
      strip(loop.scalars, direct[0] ? to : static_cast<void*>(&tile[0]), x, m);
      if (direct[0]) continue;
      const bool apart = stride[0] != converters[0].size;
      char* const made = !apart ? to : converters[0].direct ? tile[0].bytes : strided[0].bytes;
      if (!converters[0].direct) converters[0].convert(&tile[0], made, m);
      if (apart) scatter(converters[0].size, made, to, stride[0], m);
    }
  });
}

constexpr int64_t kVectorMultiple = 16;  // number of elements that fill whole vectors on every instruction set

/// Computes y = f(x) if f has a fast path for all but a few floats. First computes the fast path for all elements of a
/// block, and then recomputes the exceptions, so that no element depends on its neighbours. y may be x, so the inputs
/// of the block are kept. Blocks are whole vectors, which halves the size of the code; the last few elements are padded
/// with ones.
template <class F> void fast_path_strip(float* y, const float* x, int64_t n) {
  float kept[kTileSize], last[kVectorMultiple];
  for (int64_t done = 0, m; done < n; done += m) {
    const int64_t left = n - done;
    m = (left < kTileSize ? left : kTileSize) & -kVectorMultiple;
    float* to = y + done;
    const float* from = x + done;
    const bool few = m == 0;
    if (few) {
      for (int64_t i = 0; i < kVectorMultiple; ++i) last[i] = i < left ? from[i] : 1.0f;
      from = to = last;
      m = kVectorMultiple;
    }
    int32_t has_exceptions = 0;
    TANDEM_NO_UNROLL
    for (int64_t i = 0; i < m; ++i) has_exceptions |= !F::has_fast_path(from[i]);
    if (has_exceptions)
      for (int64_t i = 0; i < m; ++i) kept[i] = from[i];
    TANDEM_IVDEP
    for (int64_t i = 0; i < m; ++i) to[i] = F::fast_path(from[i]);
    if (has_exceptions)
      for (int64_t i = 0; i < m; ++i)
        if (!F::has_fast_path(kept[i])) to[i] = F()(kept[i]);
    for (int64_t i = 0; few && i < left; ++i) {
      TANDEM_NO_VECTORIZE
      y[done + i] = to[i];
    }
  }
}
template <class F> void fast_path_strip(float* y, const float* a, const float* b, int64_t n) {
  float kept[2][kTileSize], last[3][kVectorMultiple];
  for (int64_t done = 0, m; done < n; done += m) {
    const int64_t left = n - done;
    m = (left < kTileSize ? left : kTileSize) & -kVectorMultiple;
    float* to = y + done;
    const float *from = a + done, *other = b + done;
    const bool few = m == 0;
    if (few) {
      for (int64_t i = 0; i < kVectorMultiple; ++i) last[0][i] = i < left ? from[i] : 1.0f;
      for (int64_t i = 0; i < kVectorMultiple; ++i) last[1][i] = i < left ? other[i] : 1.0f;
      from = last[0];
      other = last[1];
      to = last[2];
      m = kVectorMultiple;
    }
    int32_t has_exceptions = 0;
    TANDEM_NO_UNROLL
    for (int64_t i = 0; i < m; ++i) has_exceptions |= !F::has_fast_path(from[i], other[i]);
    if (has_exceptions)
      for (int64_t i = 0; i < m; ++i) {
        kept[0][i] = from[i];
        kept[1][i] = other[i];
      }
    TANDEM_IVDEP
    for (int64_t i = 0; i < m; ++i) to[i] = F::fast_path(from[i], other[i]);
    if (has_exceptions)
      for (int64_t i = 0; i < m; ++i)
        if (!F::has_fast_path(kept[0][i], kept[1][i])) to[i] = F()(kept[0][i], kept[1][i]);
    for (int64_t i = 0; few && i < left; ++i) {
      TANDEM_NO_VECTORIZE
      y[done + i] = to[i];
    }
  }
}

template <class F, class C, class Result>
void unary_strip(const LoopScalar* scalars, void* to, const void* const* from, int64_t n) {
  Result* const y = static_cast<Result*>(to);
  const C* const x = static_cast<const C*>(from[0]);
  if constexpr (requires(C c) { F::fast_path(c); }) {
    fast_path_strip<F>(y, x, n);
  } else {
    const F f = make_functor<F, C>(scalars);
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  }
}
template <class F, class C, class Result>
void binary_strip(const LoopScalar* scalars, void* to, const void* const* from, int64_t n) {
  Result* const y = static_cast<Result*>(to);
  const C *const a = static_cast<const C*>(from[0]), *const b = static_cast<const C*>(from[1]);
  if constexpr (requires(C c) { F::fast_path(c, c); }) {
    fast_path_strip<F>(y, a, b, n);
  } else {
    const F f = make_functor<F, C>(scalars);
    TANDEM_IVDEP
    for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
  }
}
/// Whether functor F computes so fast that, by comparison, it would take noticeable time to fill a tile with a
/// broadcast number. Such functors have a scalar_strip, which takes the number itself.
template <class F> constexpr bool kHasScalarStrip = false;
template <> constexpr bool kHasScalarStrip<Mul<float>> = true;
template <> constexpr bool kHasScalarStrip<Div<float>> = true;
template <> constexpr bool kHasScalarStrip<AddScaled<float>> = true;
template <class F, class C, class Result>
void scalar_strip(const LoopScalar* scalars, void* to, const void* const* from, int64_t n) {
  const F f = make_functor<F, C>(scalars);
  Result* const y = static_cast<Result*>(to);
  const C *const a = static_cast<const C*>(from[0]), b = *static_cast<const C*>(from[1]);
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = f(a[i], b);
}

/// Converters of loops with one or two inputs: first for the output, then for each input. The result is computed as
/// Result and stored as Out; inputs are stored as In and computed as C.
template <class Out, class Result, class In, class C>
constexpr Converter kConverters[] = {output_converter<Out, Result>(), input_converter<In, C>(),
                                     input_converter<In, C>()};

/// Bodies of loops that compute y = f(x) and y = f(a, b). Inputs have the type In, and results of f are stored as Out.
template <class F, class In, class Out> void unary_loop(const Loop& loop, int64_t begin, int64_t end) {
  using C = Accumulate<In>;
  using Result = decltype(make_functor<F, C>(nullptr)(C()));
  run_strips<1>(loop, begin, end, unary_strip<F, C, Result>, kConverters<Out, Result, In, C>);
}
template <class F, class In, class Out> void binary_loop(const Loop& loop, int64_t begin, int64_t end) {
  using C = Accumulate<In>;
  using Result = decltype(make_functor<F, C>(nullptr)(C(), C()));
  Strip strip_for_scalar = nullptr;
  if constexpr (kHasScalarStrip<F>) strip_for_scalar = scalar_strip<F, C, Result>;
  run_strips<2>(loop, begin, end, binary_strip<F, C, Result>, kConverters<Out, Result, In, C>, strip_for_scalar);
}

// Loop bodies, as arguments of the table macros below: F is the template of a functor (the operation on one element), T
// the C++ type of the dtype.
#define TANDEM_UNARY_BODY(F, T) unary_loop<F<Accumulate<T>>, T, T>
#define TANDEM_PREDICATE_BODY(F, T) unary_loop<F<Accumulate<T>>, T, bool>
#define TANDEM_BINARY_BODY(F, T) binary_loop<F<Accumulate<T>>, T, T>
#define TANDEM_COMPARE_BODY(F, T) binary_loop<F<Accumulate<T>>, T, bool>
#define TANDEM_TYPED_BODY(body, T) body<T>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// Defines the dispatch table of an operation: its loop bodies in the order of DType. The table is constinit, because
// code that initialises it at startup would be compiled for an instruction set that the processor may not have.
#define TANDEM_DISPATCH_TABLE(op, ...)         \
  namespace tandem::kernels::cpu::TANDEM_ISA { \
  extern const LoopTable op;                   \
  constinit const LoopTable op{{__VA_ARGS__}}; \
  }
#define TANDEM_FLOATING_DISPATCH_TABLE(op, BODY, F) \
  TANDEM_DISPATCH_TABLE(op, BODY(F, float), BODY(F, double), BODY(F, Half), BODY(F, BFloat16))
#define TANDEM_NUMERIC_DISPATCH_TABLE(op, BODY, F)                                                               \
  TANDEM_DISPATCH_TABLE(op, BODY(F, float), BODY(F, double), BODY(F, Half), BODY(F, BFloat16), BODY(F, int64_t), \
                        BODY(F, int32_t), BODY(F, int16_t), BODY(F, int8_t), BODY(F, uint8_t))
#define TANDEM_ALL_TYPES_DISPATCH_TABLE(op, BODY, F)                                                             \
  TANDEM_DISPATCH_TABLE(op, BODY(F, float), BODY(F, double), BODY(F, Half), BODY(F, BFloat16), BODY(F, int64_t), \
                        BODY(F, int32_t), BODY(F, int16_t), BODY(F, int8_t), BODY(F, uint8_t), BODY(F, bool))
#define TANDEM_INTEGER_DISPATCH_TABLE(op, BODY, F)                                                                    \
  TANDEM_DISPATCH_TABLE(op, nullptr, nullptr, nullptr, nullptr, BODY(F, int64_t), BODY(F, int32_t), BODY(F, int16_t), \
                        BODY(F, int8_t), BODY(F, uint8_t))
#define TANDEM_INTEGRAL_DISPATCH_TABLE(op, BODY, F)                                                                   \
  TANDEM_DISPATCH_TABLE(op, nullptr, nullptr, nullptr, nullptr, BODY(F, int64_t), BODY(F, int32_t), BODY(F, int16_t), \
                        BODY(F, int8_t), BODY(F, uint8_t), BODY(F, bool))

// Macro that defines the table of loop bodies, for each set of dtypes in core/elementwise_ops.h:
// TANDEM_DISPATCH_TABLE_FOR_any is for operations that accept `any` dtype, and so on.
#define TANDEM_DISPATCH_TABLE_FOR_any TANDEM_ALL_TYPES_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_numbers TANDEM_NUMERIC_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_counted TANDEM_NUMERIC_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_divided TANDEM_NUMERIC_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_powers TANDEM_NUMERIC_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_floating TANDEM_FLOATING_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_real TANDEM_FLOATING_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_rounded TANDEM_FLOATING_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_integral TANDEM_INTEGRAL_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_integers TANDEM_INTEGER_DISPATCH_TABLE
#define TANDEM_DISPATCH_TABLE_FOR_stepped TANDEM_FLOATING_DISPATCH_TABLE
