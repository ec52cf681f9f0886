// Reductions of contiguous elements in vectors that stay in registers. (For an array of lanes, gcc would generate loops
// over memory.) The operation Op of a reduction has identity<A>(), its neutral element; combine(a, b), for elements and
// for vectors; and kOrderMatters, whether rounding depends on the order of the elements.
#pragma once
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kLaneBytes = 64;
#elif defined(__AVX2__)
constexpr int kLaneBytes = 32;
#else
constexpr int kLaneBytes = 16;
#endif
template <class A, int kBytes> struct LaneVectorOf {
  typedef A type __attribute__((vector_size(kBytes), aligned(alignof(A)), may_alias));
};
template <class A, int kBytes> using LaneVector = typename LaneVectorOf<A, kBytes>::type;
template <class Op, class A, int kBytes> TANDEM_HD LaneVector<A, kBytes> identity_lanes() {
  return LaneVector<A, kBytes>{} + Op::template identity<A>();
}
template <class A, int kBytes> TANDEM_HD LaneVector<A, kBytes> load_lanes(const A* x) {
  return *reinterpret_cast<const LaneVector<A, kBytes>*>(x);
}
/// Returns the elements at even positions of the vectors a and b, one after the other, or at odd positions if `odd`.
template <class V> TANDEM_HD V deinterleave(V a, V b, bool odd) {
  constexpr int kWidth = int(sizeof(V) / sizeof(a[0]));
  if constexpr (kWidth == 2)
    return odd ? __builtin_shufflevector(a, b, 1, 3) : __builtin_shufflevector(a, b, 0, 2);
  else if constexpr (kWidth == 4)
    return odd ? __builtin_shufflevector(a, b, 1, 3, 5, 7) : __builtin_shufflevector(a, b, 0, 2, 4, 6);
  else if constexpr (kWidth == 8)
    return odd ? __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
               : __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  else
    return odd ? __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
               : __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
/// Returns v, and keeps gcc from merging its computation with other code. Otherwise gcc would merge the two comparisons
/// in `b != b ? b : b > a ? b : a` into one, for which there is no instruction.
template <class V> TANDEM_HD V hide_from_optimizer(V v) {
#if defined(__x86_64__)
  asm("" : "+x"(v));
#endif
  return v;
}
/// Returns `chosen`, or b if b is NaN.
template <class A> TANDEM_HD A propagate_nan(A chosen, A b) {
  if constexpr (requires { b[0]; })
    return b == b ? hide_from_optimizer(chosen) : b;
  else
    return b != b ? b : chosen;
}
/// 64 zero bytes, then 64 bytes of all ones. A vector loaded from a suitable offset is a mask that selects the last
/// bytes of another vector.
struct ByteMask {
  uint8_t zeros[64], ones[64];
  constexpr ByteMask() : zeros{}, ones{} {
    for (uint8_t& each : ones) each = 255;
  }
};
constexpr ByteMask kByteMask;
/// Returns v with its first `count` bytes taken from `other`.
template <class A, int kBytes>
TANDEM_HD LaneVector<A, kBytes> replace_first_bytes(LaneVector<A, kBytes> v, LaneVector<A, kBytes> other,
                                                    int64_t count) {
  using Bits = LaneVector<uint8_t, kBytes>;
  const Bits chosen = load_lanes<uint8_t, kBytes>(kByteMask.zeros + 64 - count);
  return LaneVector<A, kBytes>((Bits(v) & chosen) | (Bits(other) & ~chosen));
}

/// Reduces the lanes of v to one: joins the first half of the vector with the second half until one lane is left.
template <class Op, class A, int kBytes> TANDEM_HD A reduce_vector(LaneVector<A, kBytes> v) {
  using V = LaneVector<A, kBytes>;
  if constexpr (kBytes > 16) {
    LaneVector<A, kBytes / 2> half[2];
    __builtin_memcpy(half, &v, kBytes);
    return reduce_vector<Op, A, kBytes / 2>(Op::combine(half[0], half[1]));
  } else {
    using Twos = LaneVector<uint64_t, 16>;
    using Fours = LaneVector<uint32_t, 16>;
    using Eights = LaneVector<uint16_t, 16>;
    v = Op::combine(v, V(__builtin_shufflevector(Twos(v), Twos(v), 1, 0)));
    if constexpr (sizeof(A) <= 4) v = Op::combine(v, V(__builtin_shufflevector(Fours(v), Fours(v), 1, 0, 3, 2)));
    if constexpr (sizeof(A) <= 2) v = Op::combine(v, V(Fours(v) >> 16));
    if constexpr (sizeof(A) == 1) v = Op::combine(v, V(Eights(v) >> 8));
    return v[0];
  }
}
/// Reduces x[0, n). Operations with kOrderMatters have 32 lanes on every instruction set (fewer if n is smaller than a
/// vector); other operations have as many lanes as is fastest. Sums of floats may still round differently on different
/// instruction sets, because the incomplete last vector depends on the size of a vector. An incomplete last vector is
/// loaded together with elements before it, which are replaced by the neutral element.
template <class Op, class A, int kBytes = kLaneBytes> TANDEM_HD A reduce_lanes(const A* x, int64_t n) {
  using V = LaneVector<A, kBytes>;
  constexpr int kWidth = kBytes / int(sizeof(A)), kVectors = kBytes < kLaneBytes ? 1
                                                             : Op::kOrderMatters ? 32 / kWidth
                                                                                 : 4;
  if constexpr (kBytes > 16) {
    if (n < kWidth) return reduce_lanes<Op, A, 16>(x, n);
  } else if (n < kWidth) {
    A total = Op::template identity<A>();
    for (int64_t i = 0; i < n; ++i) {
      TANDEM_NO_VECTORIZE
      total = Op::combine(total, x[i]);
    }
    return total;
  }
  const auto load = [=](int64_t at) { return load_lanes<A, kBytes>(x + at); };
  const V none = identity_lanes<Op, A, kBytes>();
  V lanes[kVectors];
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) lanes[v] = none;
  int64_t i = 0;
  for (; i + kVectors * kWidth <= n; i += kVectors * kWidth)
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) lanes[v] = Op::combine(lanes[v], load(i + v * kWidth));
#pragma GCC unroll 16
  for (int v = 0; v < kVectors - 1; ++v)
    if (i + kWidth <= n) {
      lanes[v] = Op::combine(lanes[v], load(i));
      i += kWidth;
    }
  if (i < n) {
    const V last = replace_first_bytes<A, kBytes>(load(n - kWidth), none, (kWidth - (n - i)) * int64_t(sizeof(A)));
    lanes[kVectors - 1] = Op::combine(lanes[kVectors - 1], last);
  }
#pragma GCC unroll 16
  for (int apart = kVectors / 2; apart > 0; apart /= 2)
#pragma GCC unroll 16
    for (int v = 0; v < apart; ++v) lanes[v] = Op::combine(lanes[v], lanes[v + apart]);
  return reduce_vector<Op, A, kBytes>(lanes[0]);
}

/// Maximum that ignores NaN.
struct NanIgnoringMax {
  static constexpr bool kOrderMatters = false;
  template <class A> static A identity() { return -A(__builtin_inf()); }
  template <class A> TANDEM_HD static A combine(A a, A b) { return b > a ? b : a; }
};

/// Reduces each column c < kVectors * kWidth of x over `rows` rows, which are `stride` elements apart, and writes the
/// result to results[c].
template <class Op, class A, int kBytes, int kVectors>
TANDEM_HD void reduce_block(const A* x, int64_t rows, int64_t stride, A* results) {
  using V = LaneVector<A, kBytes>;
  constexpr int kWidth = kBytes / int(sizeof(A));
  V column[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) column[v] = identity_lanes<Op, A, kBytes>();
  for (int64_t r = 0; r < rows; ++r, x += stride)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) column[v] = Op::combine(column[v], load_lanes<A, kBytes>(x + v * kWidth));
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) *reinterpret_cast<V*>(results + v * kWidth) = column[v];
}
/// Like reduce_block, for any number of columns (`width`). The last block of columns overlaps the previous one instead
/// of being narrower.
template <class Op, class A, int kBytes = kLaneBytes, int kVectors = 4>
void reduce_columns(const A* x, int64_t rows, int64_t stride, int64_t width, A* results) {
  constexpr int64_t kBlock = kVectors * kBytes / int64_t(sizeof(A));
  if (width >= kBlock) {
    for (int64_t c = 0; c < width; c += kBlock) {
      if (c > width - kBlock) c = width - kBlock;
      reduce_block<Op, A, kBytes, kVectors>(x + c, rows, stride, results + c);
    }
  } else if constexpr (kVectors > 1) {
    reduce_columns<Op, A, kBytes, 1>(x, rows, stride, width, results);
  } else if constexpr (kBytes > 16) {
    reduce_columns<Op, A, 16, 1>(x, rows, stride, width, results);
  } else {
    for (int64_t c = 0; c < width; ++c) {
      A total = Op::template identity<A>();
      for (int64_t r = 0; r < rows; ++r) {
        TANDEM_NO_VECTORIZE
        total = Op::combine(total, x[r * stride + c]);
      }
      results[c] = total;
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
