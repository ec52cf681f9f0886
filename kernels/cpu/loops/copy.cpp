// Rows that move: casts (one row per written type, by the read one), where, fill, arange.
#include "tandem/kernels/cpu/loops/elementwise.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// As C converts, with two exceptions: bool asks whether it is zero, and half types go through float.
template <class C, class To> struct Cast {
  TANDEM_HD To operator()(C x) const {
    if constexpr (__is_same(To, bool))
      return x != C(0);
    else if constexpr (__is_same(To, Half) || __is_same(To, BFloat16))
      return To(float(x));
    else
      return To(x);
  }
};

template <class T> void where_body(const Loop& loop, int64_t begin, int64_t end) {
  const int inner = loop.extents.rank - 1;
  int64_t s[4];
  for (int k = 0; k < 4; ++k) s[k] = loop.operands[k].strides[inner];
  for_rows<4>(loop, begin, end, [&](int64_t n, char** p) {
    for (int64_t i = 0; i < n; ++i) {
      const bool condition = *as<bool>(p[1] + i * s[1]);
      *reinterpret_cast<T*>(p[0] + i * s[0]) = *as<T>(condition ? p[2] + i * s[2] : p[3] + i * s[3]);
    }
  });
}

template <class T> T scalar_of(const LoopScalar& s) {
  if constexpr (__is_same(T, Half) || __is_same(T, BFloat16))
    return T(float(s.real));
  else
    return scalar_as<T>(s);
}
template <class T> void fill_body(const Loop& loop, int64_t begin, int64_t end) {
  const T value = scalar_of<T>(loop.scalars[0]);
  const int64_t s = loop.operands[0].strides[loop.extents.rank - 1];
  for_rows<1>(loop, begin, end, [&](int64_t n, char** p) {
    if (s == int64_t(sizeof(T)))
      for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(p[0])[i] = value;
    else
      for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(p[0] + i * s) = value;
  });
}
template <class T> void arange_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Compute<T>;
  T* const y = reinterpret_cast<T*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  if constexpr (math::kFloating<C>)
    for (int64_t i = begin; i < end; ++i) y[i] = T(C(loop.scalars[0].real + double(i) * loop.scalars[1].real));
  else
    for (int64_t i = begin; i < end; ++i) y[i] = T(loop.scalars[0].integer + i * loop.scalars[1].integer);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_CAST_BODY(To, From) unary<Cast<Compute<From>, To>, From, To>
TANDEM_ALL_ROW(cast_to_float32, TANDEM_CAST_BODY, float)
TANDEM_ALL_ROW(cast_to_float64, TANDEM_CAST_BODY, double)
TANDEM_ALL_ROW(cast_to_float16, TANDEM_CAST_BODY, Half)
TANDEM_ALL_ROW(cast_to_bfloat16, TANDEM_CAST_BODY, BFloat16)
TANDEM_ALL_ROW(cast_to_int64, TANDEM_CAST_BODY, int64_t)
TANDEM_ALL_ROW(cast_to_int32, TANDEM_CAST_BODY, int32_t)
TANDEM_ALL_ROW(cast_to_int16, TANDEM_CAST_BODY, int16_t)
TANDEM_ALL_ROW(cast_to_int8, TANDEM_CAST_BODY, int8_t)
TANDEM_ALL_ROW(cast_to_uint8, TANDEM_CAST_BODY, uint8_t)
TANDEM_ALL_ROW(cast_to_boolean, TANDEM_CAST_BODY, bool)
#define TANDEM_BY_TYPE(body, T) body<T>
TANDEM_ALL_ROW(where, TANDEM_BY_TYPE, where_body)
TANDEM_ALL_ROW(fill, TANDEM_BY_TYPE, fill_body)
TANDEM_ARITHMETIC_ROW(arange, TANDEM_BY_TYPE, arange_body)
