// Small functions of CUDA, included by simt.h: bit operations, conversions, min and max, fast math, cached loads.
#pragma once
#include <math.h>

#include <bit>
#include <cstdint>

// ---- bits

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
/// Returns the position of the lowest set bit, counted from 1; 0 if no bit is set.
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1; }
inline unsigned long long __brevll(unsigned long long x) {
  unsigned long long y = 0;
  for (int i = 0; i < 64; ++i) y |= (x >> i & 1) << (63 - i);
  return y;
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
/// Upper half of a product.
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
/// __funnelshift_l returns the upper 32 bits of the 64-bit number high:low shifted left; __funnelshift_r the lower 32
/// bits of high:low shifted right. The shift is taken modulo 32.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<uint64_t>(high) << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}

// ---- reinterpretation of bits

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

// ---- min and max: if one float is NaN, the result is the other one

#define TANDEM_MIN_MAX(A, B, Result)                                     \
  inline Result min(A a, B b) {                                          \
    const Result x = static_cast<Result>(a), y = static_cast<Result>(b); \
    return x < y ? x : y;                                                \
  }                                                                      \
  inline Result max(A a, B b) {                                          \
    const Result x = static_cast<Result>(a), y = static_cast<Result>(b); \
    return x < y ? y : x;                                                \
  }
#define TANDEM_MIN_MAX_INTEGERS(T)                   \
  TANDEM_MIN_MAX(T, T, T)                            \
  TANDEM_MIN_MAX(unsigned T, unsigned T, unsigned T) \
  TANDEM_MIN_MAX(T, unsigned T, unsigned T)          \
  TANDEM_MIN_MAX(unsigned T, T, unsigned T)
TANDEM_MIN_MAX_INTEGERS(int)
TANDEM_MIN_MAX_INTEGERS(long)
TANDEM_MIN_MAX_INTEGERS(long long)
#undef TANDEM_MIN_MAX_INTEGERS
#undef TANDEM_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }

// ---- math that <math.h> lacks. The fast functions are exact here; on a GPU their error is a few units in the last
// place.

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __saturatef(float x) { return x > 0.0f ? fminf(x, 1.0f) : 0.0f; }
inline float __fdividef(float x, float y) { return x / y; }
// noexcept, because the C library declares a function of this name with noexcept.
inline float __expf(float x) noexcept { return expf(x); }

/// Defines arithmetic functions whose result is rounded once, and which compilers do not contract to a fused
/// multiply-add.
#define TANDEM_ROUNDING_INTRINSIC(word, T, expression) \
  inline T word(T x, T y) {                            \
    T result = expression;                             \
    asm volatile("" : "+m"(result));                   \
    return result;                                     \
  }
TANDEM_ROUNDING_INTRINSIC(__fadd_rn, float, x + y)
TANDEM_ROUNDING_INTRINSIC(__fsub_rn, float, x - y)
TANDEM_ROUNDING_INTRINSIC(__fmul_rn, float, x* y)
TANDEM_ROUNDING_INTRINSIC(__fdiv_rn, float, x / y)
TANDEM_ROUNDING_INTRINSIC(__dadd_rn, double, x + y)
TANDEM_ROUNDING_INTRINSIC(__dsub_rn, double, x - y)
TANDEM_ROUNDING_INTRINSIC(__dmul_rn, double, x* y)
TANDEM_ROUNDING_INTRINSIC(__ddiv_rn, double, x / y)
#undef TANDEM_ROUNDING_INTRINSIC
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }

// ---- loads and stores with cache hints

template <class T> T __ldg(const T* address) { return *address; }
template <class T> T __ldcs(const T* address) { return *address; }
template <class T> void __stwb(T* address, T value) { *address = value; }
