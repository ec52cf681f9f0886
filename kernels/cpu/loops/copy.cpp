// Loops that copy or fill elements: casts (one table per dtype written, indexed by the dtype read), where, fill,
// arange.
#include "tandem/kernels/cpu/loops/nontemporal.h"
#include "tandem/kernels/cpu/loops/transpose.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <int kBytes> struct BitsOf;
template <> struct BitsOf<1> { using type = uint8_t; };
template <> struct BitsOf<2> { using type = uint16_t; };
template <> struct BitsOf<4> { using type = uint32_t; };
template <> struct BitsOf<8> { using type = uint64_t; };
/// Unsigned integer of T's size. Elements that are only moved are treated as such integers, so that four loop bodies
/// serve ten dtypes.
template <class T> using Bits = typename BitsOf<sizeof(T)>::type;

template <class T> void copy_row(char* to, const char* from, int64_t sy, int64_t sx, int64_t n) {
  if (sy == int64_t(sizeof(T)) && sx == int64_t(sizeof(T)))
    __builtin_memcpy(to, from, uint64_t(n) * sizeof(T));
  else
    for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(to + i * sy) = *as<T>(from + i * sx);
}
TANDEM_NOINLINE void copy_nontemporal(char* to, const char* from, int64_t bytes) {
  constexpr int64_t kLine = 64;
  int64_t head = -reinterpret_cast<intptr_t>(to) & (kLine - 1);
  if (head > bytes) head = bytes;
  __builtin_memcpy(to, from, uint64_t(head));
  to += head;
  from += head;
  bytes -= head;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) nontemporal_store(to, from, kLine);
  nontemporal_fence();
  __builtin_memcpy(to, from, uint64_t(bytes));
}

// Number of bytes of a vector in transpositions. A square block, whose rows are such vectors, has to fit into the
// registers.
#if defined(__AVX512F__)
template <class T> constexpr int kBlockBytes = sizeof(T) >= 4 ? 64 : 16;
#elif defined(__AVX__)
template <class T> constexpr int kBlockBytes = sizeof(T) >= 4 ? 32 : 16;
#else
template <class T> constexpr int kBlockBytes = 16;
#endif
/// Copies without conversion. If the stride of x is smaller across rows than along them (a transposition), the rows are
/// copied in square blocks that stay in the L1 cache. Row by row, each element would cost a cache line.
template <class T> void copy_bits(const Loop& loop, int64_t begin, int64_t end) {
  constexpr int64_t kEdge = 32;
  const int inner = loop.extents.rank - 1;
  const int64_t width = loop.extents.size[inner], sy = loop.operands[0].strides[inner],
                sx = loop.operands[1].strides[inner];
  const bool nontemporal = loop.operands[0].bytes >= kNontemporalBytes && sy == int64_t(sizeof(T)) && sx == sy;
  const auto row = [&](int64_t n, char** p) {
    if (nontemporal && n >= 1024)
      copy_nontemporal(p[0], p[1], n * sy);
    else
      copy_row<T>(p[0], p[1], sy, sx, n);
  };
  const int64_t across = inner > 0 ? loop.operands[1].strides[inner - 1] : 0;
  if (inner == 0 || across == 0 || across >= sx || width < 4) return for_rows<2>(loop, begin, end, row);
  const int64_t height = loop.extents.size[inner - 1], down = loop.operands[0].strides[inner - 1];
  constexpr int64_t kSize = sizeof(T);
  const bool plain = sy == kSize && across == kSize && down % kSize == 0 && sx % kSize == 0;
  for (int64_t at = begin, count; at < end; at += count) {
    const int64_t column = at % width, below = height - at / width % height, whole = (end - at) / width;
    const int64_t rows = column != 0 ? 0 : below < whole ? below : whole;
    if (rows < 2) {
      count = width - column < end - at ? width - column : end - at;
      for_rows<2>(loop, at, at + count, row);
      continue;
    }
    count = rows * width;
    for_rows<2>(loop, at, at + 1, [&](int64_t, char** p) {  // this loop runs once, only to get the pointers
      for (int64_t r = 0; r < rows; r += kEdge)
        for (int64_t c = 0; c < width; c += kEdge) {
          const int64_t high = rows - r < kEdge ? rows - r : kEdge, wide = width - c < kEdge ? width - c : kEdge;
          char *const to = p[0] + r * down + c * sy, *const from = p[1] + r * across + c * sx;
          if (plain)
            transpose<T, kBlockBytes<T>>(as<T>(from), sx / kSize, reinterpret_cast<T*>(to), down / kSize, wide, high);
          else
            for (int64_t i = 0; i < high; ++i) copy_row<T>(to + i * down, from + i * across, sy, sx, wide);
        }
    });
  }
}

/// Converts as PyTorch does: to bool by comparison with 0; to small integers through int64, with wrap-around; half
/// types through float.
template <class C, class Result> struct Convert {
  TANDEM_HD Result operator()(C x) const {
    if constexpr (__is_same(Result, bool))
      return x != C(0);
    else
      return Result(x);
  }
};
template <class To> struct ResultOf { using type = Accumulate<To>; };
template <> struct ResultOf<bool> { using type = bool; };
template <> struct ResultOf<int32_t> { using type = int32_t; };
template <class To, class From> void cast(const Loop& loop, int64_t begin, int64_t end) {
  if constexpr (__is_same(To, From))
    copy_bits<Bits<To>>(loop, begin, end);
  else
    unary_loop<Convert<Accumulate<From>, typename ResultOf<To>::type>, From, To>(loop, begin, end);
}

template <class T> void where_strip(const LoopScalar*, void* to, const void* const* from, int64_t n) {
  T* const y = static_cast<T*>(to);
  const uint8_t* const condition = static_cast<const uint8_t*>(from[0]);
  const T *const a = static_cast<const T*>(from[1]), *const b = static_cast<const T*>(from[2]);
  TANDEM_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? a[i] : b[i];
}
template <class T> void where_body(const Loop& loop, int64_t begin, int64_t end) {
  using B = Bits<T>;
  const Converter converters[] = {output_converter<B, B>(), input_converter<uint8_t, uint8_t>(),
                                  input_converter<B, B>(), input_converter<B, B>()};
  run_strips<3>(loop, begin, end, where_strip<B>, converters);
}

template <class T> T scalar_value(const LoopScalar& s) {
  if constexpr (__is_same(T, Half) || __is_same(T, BFloat16))
    return T(float(s.real));
  else
    return scalar_as<T>(s);
}
template <class T> void fill_bits(const Loop& loop, int64_t begin, int64_t end, T value) {
  const int64_t s = loop.operands[0].strides[loop.extents.rank - 1];
  for_rows<1>(loop, begin, end, [&](int64_t n, char** p) {
    if (s == int64_t(sizeof(T)))
      for (int64_t i = 0; i < n; ++i) reinterpret_cast<T*>(p[0])[i] = value;
    else
      for (int64_t i = 0; i < n; ++i) *reinterpret_cast<T*>(p[0] + i * s) = value;
  });
}
template <class T> void fill_body(const Loop& loop, int64_t begin, int64_t end) {
  fill_bits(loop, begin, end, __builtin_bit_cast(Bits<T>, scalar_value<T>(loop.scalars[0])));
}
template <class T> void arange_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = OpMath<T>;
  T* const y = reinterpret_cast<T*>(loop.operands[0].buffer->data + loop.operands[0].offset);
  if constexpr (math::kIsFloatingType<C>)
    for (int64_t i = begin; i < end; ++i) y[i] = T(C(loop.scalars[0].real + double(i) * loop.scalars[1].real));
  else
    for (int64_t i = begin; i < end; ++i) y[i] = T(loop.scalars[0].integer + i * loop.scalars[1].integer);
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_CAST_BODY(To, From) cast<To, From>
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_float32, TANDEM_CAST_BODY, float)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_float64, TANDEM_CAST_BODY, double)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_float16, TANDEM_CAST_BODY, Half)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_bfloat16, TANDEM_CAST_BODY, BFloat16)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_int64, TANDEM_CAST_BODY, int64_t)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_int32, TANDEM_CAST_BODY, int32_t)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_int16, TANDEM_CAST_BODY, int16_t)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_int8, TANDEM_CAST_BODY, int8_t)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_uint8, TANDEM_CAST_BODY, uint8_t)
TANDEM_ALL_TYPES_DISPATCH_TABLE(cast_to_boolean, TANDEM_CAST_BODY, bool)
TANDEM_ALL_TYPES_DISPATCH_TABLE(where, TANDEM_TYPED_BODY, where_body)
TANDEM_ALL_TYPES_DISPATCH_TABLE(fill, TANDEM_TYPED_BODY, fill_body)
TANDEM_NUMERIC_DISPATCH_TABLE(arange, TANDEM_TYPED_BODY, arange_body)
