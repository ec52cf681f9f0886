// The 16-bit floating types as plain bits, and their conversions to and from float. GPUs convert in hardware, with the
// same rounding. Uses no standard C++ library and only always-inline functions, because the loops of CPU kernels, which
// are compiled once per instruction set, include this file.
#pragma once
#include <stdint.h>

#if defined(__CUDACC__)
#define TANDEM_HD __host__ __device__ __forceinline__
#else
// Functions are always inlined. Otherwise, at -O0, the linker could choose the copy of a function from an object file
// that is compiled for a newer processor, and an older processor could not run it.
#define TANDEM_HD inline __attribute__((always_inline))
#endif

namespace tandem {

/// bfloat16: the upper 16 bits of a float32. Rounds to nearest even; NaN stays NaN.
struct BFloat16 {
  /// The sign, 8 bits of exponent and 7 of mantissa: the upper half of a float.
  uint16_t bits;
  BFloat16() = default;
  TANDEM_HD constexpr BFloat16(float value) : bits(0) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if (!__builtin_is_constant_evaluated()) {
      asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return;
    }
#endif
    const uint32_t u = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
    bits = uint16_t((value != value ? (u | 0x400000u) : rounded) >> 16);
  }
  /// Converts to float, exactly.
  TANDEM_HD constexpr operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }
};

/// IEEE 754 binary16. Rounds to nearest even, overflows to infinity, keeps subnormals; NaN stays NaN.
struct Half {
  /// The sign, 5 bits of exponent and 10 of mantissa.
  uint16_t bits;
  Half() = default;
  TANDEM_HD constexpr Half(float value) : bits(0) {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) {
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return;
    }
#endif
    const uint32_t u = __builtin_bit_cast(uint32_t, value);
    const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    // Subnormals: adding 0.5 makes the float addition round at binary16's last bit, 2^-24.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5f;
    const uint32_t small = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // 0x38800000 is 2^-14, the smallest normal number of binary16
    const uint32_t finite = magnitude < 0x38800000u ? small : normal;
    const uint32_t large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;  // NaN, or infinity
    // 0x47800000 is 65536; `normal` already rounds 65520 to 65535 up to infinity
    bits = uint16_t(sign | (magnitude >= 0x47800000u ? large : finite));
  }
  /// Converts to float, exactly.
  TANDEM_HD constexpr operator float() const {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) {
      float value;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
      return value;
    }
#endif
    const uint32_t sign = uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    // A multiplication adjusts the exponent for normals and subnormals alike: 2^112 = 2^(127 - 15).
    const float scaled = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
    const uint32_t finite = __builtin_bit_cast(uint32_t, scaled), special = (magnitude << 13) | 0x7f800000u;
    return __builtin_bit_cast(float, sign | (magnitude >= 0x7c00u ? special : finite));
  }
};

}  // namespace tandem
