// CUDA's vector types dim3, uint3, float4 and so on, with CUDA's sizes and alignments, and make_float4 and so on.
#pragma once

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

// Vectors of 2 and 4 elements are aligned to their size, but to at most 16 bytes, so that one instruction loads or
// stores up to 16 bytes.
#define TANDEM_VECTOR1(T, name) \
  struct name##1 {              \
    T x;                        \
  };                            \
  constexpr name##1 make_##name##1(T x) { return {x}; }
#define TANDEM_VECTOR2(T, name)           \
  struct alignas(2 * sizeof(T)) name##2 { \
    T x, y;                               \
  };                                      \
  constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }
#define TANDEM_VECTOR3(T, name) \
  struct name##3 {              \
    T x, y, z;                  \
  };                            \
  constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }
#define TANDEM_VECTOR4(T, name)                                     \
  struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) name##4 { \
    T x, y, z, w;                                                   \
  };                                                                \
  constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define TANDEM_VECTORS(T, name) \
  TANDEM_VECTOR1(T, name)       \
  TANDEM_VECTOR2(T, name)       \
  TANDEM_VECTOR3(T, name)       \
  TANDEM_VECTOR4(T, name)

TANDEM_VECTORS(signed char, char)
TANDEM_VECTORS(unsigned char, uchar)
TANDEM_VECTORS(short, short)
TANDEM_VECTORS(unsigned short, ushort)
TANDEM_VECTORS(int, int)
TANDEM_VECTORS(unsigned, uint)
TANDEM_VECTORS(long long, longlong)
TANDEM_VECTORS(unsigned long long, ulonglong)
TANDEM_VECTORS(float, float)
TANDEM_VECTORS(double, double)

#undef TANDEM_VECTORS
#undef TANDEM_VECTOR1
#undef TANDEM_VECTOR2
#undef TANDEM_VECTOR3
#undef TANDEM_VECTOR4
