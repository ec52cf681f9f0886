// Loads and stores of vectors whose elements may be of a half type, and are computed in float. All lanes are converted
// at once, by the formulas of core/half.h.
#pragma once
#include "tandem/kernels/cpu/loops/lanes.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Loads kBytes / sizeof(C) elements of type T, and converts them to C, the type of the computation.
template <class T, int kBytes> TANDEM_HD LaneVector<OpMath<T>, kBytes> load_converted(const T* x) {
  using C = OpMath<T>;
  if constexpr (__is_same(T, C)) {
    return load_lanes<C, kBytes>(x);
  } else {
    using V = LaneVector<float, kBytes>;
    using Bits = LaneVector<uint32_t, kBytes>;
    const Bits bits = __builtin_convertvector(load_lanes<uint16_t, kBytes / 2>(&x->bits), Bits);
    if constexpr (__is_same(T, BFloat16)) {
      return V(bits << 16);
    } else {
      const Bits magnitude = bits & 0x7fffu, finite = Bits(V(magnitude << 13) * 0x1p112f);
      return V((bits & 0x8000u) << 16 | (magnitude >= 0x7c00u ? magnitude << 13 | 0x7f800000u : finite));
    }
  }
}
/// Rounds a vector to elements of type T, and stores them.
template <class T, int kBytes> TANDEM_HD void store_converted(T* y, LaneVector<OpMath<T>, kBytes> lanes) {
  using C = OpMath<T>;
  if constexpr (__is_same(T, C)) {
    *reinterpret_cast<LaneVector<C, kBytes>*>(y) = lanes;
  } else {
    using V = LaneVector<float, kBytes>;
    using Bits = LaneVector<uint32_t, kBytes>;
    using Halves = LaneVector<uint16_t, kBytes / 2>;
    const Bits u = Bits(lanes);
    Bits rounded;
    if constexpr (__is_same(T, BFloat16)) {
      rounded = (lanes != lanes ? u | 0x400000u : u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    } else {
      const Bits magnitude = u & 0x7fffffffu, small = Bits(V(magnitude) + 0.5f) - 0x3f000000u;
      const Bits normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
      const Bits finite = magnitude < 0x38800000u ? small : normal;
      const Bits large = magnitude > 0x7f800000u ? Bits{} + 0x7e00u : Bits{} + 0x7c00u;
      rounded = (u >> 16 & 0x8000u) | (magnitude >= 0x47800000u ? large : finite);
    }
    *reinterpret_cast<Halves*>(&y->bits) = __builtin_convertvector(rounded, Halves);
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA
