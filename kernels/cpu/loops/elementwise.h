// The bodies of elementwise loops and the macros that file them by dtype. Only files of loops/ include it.
#pragma once
#include "tandem/core/loop.h"
#include "tandem/kernels/functors.h"

#if defined(__clang__)
#define TANDEM_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TANDEM_IVDEP _Pragma("GCC ivdep")
#endif

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {  // internal linkage: what leaves the object is the rows alone

constexpr int64_t kTile = 256;

/// The type that elements are computed in: float for the half types.
template <class T> struct ComputeOf { using type = T; };
template <> struct ComputeOf<Half> { using type = float; };
template <> struct ComputeOf<BFloat16> { using type = float; };
template <class T> using Compute = typename ComputeOf<T>::type;

/// The functor from the loop's scalars: as many as it has members, all of the type it computes in.
template <class C> C scalar_as(const LoopScalar& s) {
  if constexpr (math::kFloating<C>)
    return C(s.real);
  else
    return C(s.integer);
}
template <class F, class C> F make(const LoopScalar* s) {
  if constexpr (requires(C c) { F{c, c, c}; })
    return F{scalar_as<C>(s[0]), scalar_as<C>(s[1]), scalar_as<C>(s[2])};
  else if constexpr (requires(C c) { F{c, c}; })
    return F{scalar_as<C>(s[0]), scalar_as<C>(s[1])};
  else if constexpr (requires(C c) { F{c}; })
    return F{scalar_as<C>(s[0])};
  else
    return F{};
}

/// Walks [begin, end) of the flattened extents row by row: row(count, pointers of the operands).
template <int Count, class Row> void for_rows(const Loop& loop, int64_t begin, int64_t end, Row row) {
  const int inner = loop.extents.rank - 1;
  const int64_t width = loop.extents.size[inner];
  char* base[Count];
  for (int k = 0; k < Count; ++k) base[k] = loop.operands[k].buffer->data + loop.operands[k].offset;
  int64_t at[kMaxDims] = {}, rest = begin / width, column = begin % width;
  for (int d = inner - 1; d >= 0; --d) at[d] = rest % loop.extents.size[d], rest /= loop.extents.size[d];
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

/// Types whose loops are worth vectorising: the others take one plain strided loop, which keeps objects and compile
/// times small.
template <class T> inline constexpr bool kHot = math::kFloating<Compute<T>> || sizeof(T) == 8;

template <class T> const T* as(const char* p) { return reinterpret_cast<const T*>(p); }

/// Elements in the type they are computed in: widened, gathered or repeated into a tile. One copy serves all functors.
template <class T> [[gnu::noinline]] void load_tile(Compute<T>* tile, const char* from, int64_t stride, int64_t n) {
  if (stride == int64_t(sizeof(T)))
    for (int64_t i = 0; i < n; ++i) tile[i] = Compute<T>(as<T>(from)[i]);
  else
    for (int64_t i = 0; i < n; ++i) tile[i] = Compute<T>(*as<T>(from + i * stride));
}
template <class T, class C> [[gnu::noinline]] void store_tile(const C* tile, char* to, int64_t stride, int64_t n) {
  if (stride == int64_t(sizeof(T)))
    for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(to)[i] = T(tile[i]);
  else
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * stride) = T(tile[i]);
}

/// y = f(x)
template <class F, class In, class Out> void unary(const Loop& loop, int64_t begin, int64_t end) {
  using C = Compute<In>;
  const F f = make<F, C>(loop.scalars);
  const int inner = loop.extents.rank - 1;
  const int64_t sy = loop.operands[0].strides[inner], sx = loop.operands[1].strides[inner];
  for_rows<2>(loop, begin, end, [&](int64_t n, char** p) {
    if constexpr (!kHot<In> || !kHot<Out>) {
      for (int64_t i = 0; i < n; ++i) *reinterpret_cast<Out*>(p[0] + i * sy) = Out(f(C(*as<In>(p[1] + i * sx))));
    } else {
      using Made = Compute<Out>;
      const bool read = sizeof(C) == sizeof(In) && sx == int64_t(sizeof(In)),
                 written = sizeof(Made) == sizeof(Out) && sy == int64_t(sizeof(Out));
      const int64_t step = read && written ? n : kTile;
      C in[kTile];
      Made out[kTile];
      for (int64_t done = 0; done < n; done += step) {
        const int64_t m = n - done < step ? n - done : step;
        if (!read) load_tile<In>(in, p[1] + done * sx, sx, m);
        const C* const x = read ? as<C>(p[1]) + done : in;
        Made* const y = written ? reinterpret_cast<Made*>(p[0]) + done : out;
        TANDEM_IVDEP  // y may be x, exactly, never shifted against it: the planner sees to that
            for (int64_t i = 0; i < m; ++i) y[i] = Made(f(x[i]));
        if (!written) store_tile<Out>(out, p[0] + done * sy, sy, m);
      }
    }
  });
}

/// y = f(a, b); either may be a broadcast scalar.
template <class F, class In, class Out> void binary(const Loop& loop, int64_t begin, int64_t end) {
  using C = Compute<In>;
  const F f = make<F, C>(loop.scalars);
  const int inner = loop.extents.rank - 1;
  const int64_t sy = loop.operands[0].strides[inner], sa = loop.operands[1].strides[inner],
                sb = loop.operands[2].strides[inner];
  for_rows<3>(loop, begin, end, [&](int64_t n, char** p) {
    if constexpr (!kHot<In>) {
      for (int64_t i = 0; i < n; ++i)
        *reinterpret_cast<Out*>(p[0] + i * sy) = Out(f(C(*as<In>(p[1] + i * sa)), C(*as<In>(p[2] + i * sb))));
    } else {
      using Made = Compute<Out>;
      const bool direct = sizeof(C) == sizeof(In), read_a = direct && sa == int64_t(sizeof(In)),
                 read_b = direct && sb == int64_t(sizeof(In)),
                 written = sizeof(Made) == sizeof(Out) && sy == int64_t(sizeof(Out));
      const int64_t step = read_a && read_b && written ? n : kTile;
      C in_a[kTile], in_b[kTile];
      Made out[kTile];
      for (int64_t done = 0; done < n; done += step) {
        const int64_t m = n - done < step ? n - done : step;
        if (!read_a && (sa != 0 || done == 0)) load_tile<In>(in_a, p[1] + done * sa, sa, m);
        if (!read_b && (sb != 0 || done == 0)) load_tile<In>(in_b, p[2] + done * sb, sb, m);
        const C* const a = read_a ? as<C>(p[1]) + done : in_a;
        const C* const b = read_b ? as<C>(p[2]) + done : in_b;
        Made* const y = written ? reinterpret_cast<Made*>(p[0]) + done : out;
        TANDEM_IVDEP
        for (int64_t i = 0; i < m; ++i) y[i] = Made(f(a[i], b[i]));
        if (!written) store_tile<Out>(out, p[0] + done * sy, sy, m);
      }
    }
  });
}

// The rows' macros name bodies as Functor<compute type>.
#define TANDEM_UNARY_BODY(F, T) unary<F<Compute<T>>, T, T>
#define TANDEM_PREDICATE_BODY(F, T) unary<F<Compute<T>>, T, bool>
#define TANDEM_BINARY_BODY(F, T) binary<F<Compute<T>>, T, T>
#define TANDEM_COMPARE_BODY(F, T) binary<F<Compute<T>>, T, bool>

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

// constinit: nothing compiled for a newer processor may run before the processor has been asked. Order: DType's.
#define TANDEM_ROW(op, ...)                    \
  namespace tandem::kernels::cpu::TANDEM_ISA { \
  extern const LoopRow op;                     \
  constinit const LoopRow op{{__VA_ARGS__}};   \
  }
#define TANDEM_FLOATING_ROW(op, BODY, F) \
  TANDEM_ROW(op, BODY(F, float), BODY(F, double), BODY(F, Half), BODY(F, BFloat16))
#define TANDEM_ARITHMETIC_ROW(op, BODY, F)                                                            \
  TANDEM_ROW(op, BODY(F, float), BODY(F, double), BODY(F, Half), BODY(F, BFloat16), BODY(F, int64_t), \
             BODY(F, int32_t), BODY(F, int16_t), BODY(F, int8_t), BODY(F, uint8_t))
#define TANDEM_ALL_ROW(op, BODY, F)                                                                   \
  TANDEM_ROW(op, BODY(F, float), BODY(F, double), BODY(F, Half), BODY(F, BFloat16), BODY(F, int64_t), \
             BODY(F, int32_t), BODY(F, int16_t), BODY(F, int8_t), BODY(F, uint8_t), BODY(F, bool))
#define TANDEM_INTEGRAL_ROW(op, BODY, F)                                                                   \
  TANDEM_ROW(op, nullptr, nullptr, nullptr, nullptr, BODY(F, int64_t), BODY(F, int32_t), BODY(F, int16_t), \
             BODY(F, int8_t), BODY(F, uint8_t), BODY(F, bool))
