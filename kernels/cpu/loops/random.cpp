// Rows of random fills and of dropout. Compiled without contraction into fused multiply-adds, so that integers,
// uniforms and masks are bit-equal on every instruction set. Scalars: two parameters, seed, stream, offset. Operands
// are contiguous.
#include "tandem/kernels/cpu/loops/elementwise.h"
#include "tandem/kernels/philox.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class T> T* contiguous(const Loop& loop, int k) {
  return reinterpret_cast<T*>(loop.operands[k].buffer->data + loop.operands[k].offset);
}
struct Draw {
  uint64_t seed, stream, offset;
  explicit Draw(const Loop& loop)
      : seed(uint64_t(loop.scalars[2].integer)),
        stream(uint64_t(loop.scalars[3].integer)),
        offset(uint64_t(loop.scalars[4].integer)) {}
  uint32_t word(int64_t i) const { return philox32(seed, stream, offset, uint64_t(i)); }
  uint64_t wide(int64_t i) const { return philox64(seed, stream, offset, uint64_t(i)); }
  /// f(i, word i) for the words of [begin, end), a block at a time.
  template <class F> void each(int64_t begin, int64_t end, F f) const {
    for (int64_t i = begin; i < end;) {
      const PhiloxBlock b = philox(seed, stream, offset + uint64_t(i) / 4);
      const int64_t stop = (i / 4 + 1) * 4 < end ? (i / 4 + 1) * 4 : end;
      for (; i < stop; ++i) f(i, b.word[i % 4]);
    }
  }
};

template <class T> void uniform_body(const Loop& loop, int64_t begin, int64_t end) {
  const Draw draw(loop);
  T* const y = contiguous<T>(loop, 0);
  const double low = loop.scalars[0].real, width = loop.scalars[1].real - low;
  if constexpr (sizeof(T) == 8)
    for (int64_t i = begin; i < end; ++i) y[i] = low + width * uniform_double(draw.wide(i));
  else
    draw.each(begin, end, [&](int64_t i, uint32_t w) { y[i] = T(float(low) + float(width) * uniform_float(w)); });
}
/// Box-Muller; each number uses a pair of its own, so that it depends on nothing beside it.
template <class T> void normal_body(const Loop& loop, int64_t begin, int64_t end) {
  const Draw draw(loop);
  T* const y = contiguous<T>(loop, 0);
  const double mean = loop.scalars[0].real, std = loop.scalars[1].real;
  for (int64_t i = begin; i < end; ++i) {
    const uint64_t bits = draw.wide(i);
    const double u = (double(uint32_t(bits)) + 0.5) * 0x1p-32, v = double(uint32_t(bits >> 32)) * 0x1p-32;
    const double z = ::sqrt(-2.0 * ::log(u)) * ::cos(6.283185307179586 * v);
    if constexpr (sizeof(T) == 8)
      y[i] = mean + std * z;
    else
      y[i] = T(float(mean + std * z));
  }
}
template <class T> void bernoulli_body(const Loop& loop, int64_t begin, int64_t end) {
  const Draw draw(loop);
  T* const y = contiguous<T>(loop, 0);
  const float p = float(loop.scalars[0].real);
  using C = Compute<T>;
  draw.each(begin, end, [&](int64_t i, uint32_t w) { y[i] = T(C(uniform_float(w) < p ? 1 : 0)); });
}
/// low + bits mod (high - low), from 64 bits: the bias is below 2^-64 times the width.
template <class T> void randint_body(const Loop& loop, int64_t begin, int64_t end) {
  const Draw draw(loop);
  T* const y = contiguous<T>(loop, 0);
  const int64_t low = loop.scalars[0].integer;
  const uint64_t width = uint64_t(loop.scalars[1].integer) - uint64_t(low);
  using C = Compute<T>;
  for (int64_t i = begin; i < end; ++i) y[i] = T(C(int64_t(uint64_t(low) + draw.wide(i) % width)));
}
/// Operands: y, mask (bool), x. Scalars: keep probability, scale.
template <class T> void dropout_body(const Loop& loop, int64_t begin, int64_t end) {
  const Draw draw(loop);
  using C = Compute<T>;
  T* const y = contiguous<T>(loop, 0);
  bool* const mask = contiguous<bool>(loop, 1);
  const T* const x = contiguous<T>(loop, 2);
  const float keep = float(loop.scalars[0].real);
  const C scale = C(loop.scalars[1].real);
  draw.each(begin, end, [&](int64_t i, uint32_t w) { mask[i] = uniform_float(w) < keep; });
  for (int64_t i = begin; i < end; ++i) y[i] = T(mask[i] ? C(x[i]) * scale : C(0));
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

#define TANDEM_BY_TYPE(body, T) body<T>
TANDEM_FLOATING_ROW(uniform, TANDEM_BY_TYPE, uniform_body)
TANDEM_FLOATING_ROW(normal, TANDEM_BY_TYPE, normal_body)
TANDEM_ALL_ROW(bernoulli, TANDEM_BY_TYPE, bernoulli_body)
TANDEM_ALL_ROW(randint, TANDEM_BY_TYPE, randint_body)
TANDEM_FLOATING_ROW(dropout, TANDEM_BY_TYPE, dropout_body)
