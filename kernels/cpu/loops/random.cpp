// Loops of random fills and of dropout. They are compiled without contraction into fused multiply-adds, so that
// integers, uniforms and masks are bit-equal on every instruction set. Scalars: two parameters of the distribution, and
// the offset in Philox blocks. Operands are contiguous; the last operand is Philox's state {seed, stream, block}.
#include "tandem/kernels/cpu/loops/elements.h"
#include "tandem/kernels/cpu/loops/philox_tile.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Divides random numbers [begin, end) into tiles, and calls f(first, count, words) for each tile. Random number first
/// + i is made from kWordsPerNumber words of 32 bits, which start at words[i * kWordsPerNumber].
template <int kWordsPerNumber, class F> void for_words(const Loop& loop, int64_t begin, int64_t end, F f) {
  for_random_words<kWordsPerNumber>(data<const uint64_t>(loop, loop.operand_count - 1),
                                    uint64_t(loop.scalars[2].integer), begin, end, f);
}
uint64_t to_uint64(const uint32_t* words) { return uint64_t(words[1]) << 32 | words[0]; }

/// Fills elements [begin, end) of y with f(words of the element), computed in C.
template <int kWordsPerNumber, class C, class F> void fill_floating(const Loop& loop, int64_t begin, int64_t end, F f) {
  const OperandElements<C> result(loop, 0);
  for_words<kWordsPerNumber>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    C room[kWords];
    C* const y = result.output_buffer(first, room);
    for (int64_t i = 0; i < count; ++i) y[i] = f(words + kWordsPerNumber * i);
    result.write(first, count, y);
  });
}
template <class C> void uniform_body(const Loop& loop, int64_t begin, int64_t end) {
  const double low = loop.scalars[0].real, width = loop.scalars[1].real - low;
  if constexpr (__is_same(C, double))
    fill_floating<2, C>(loop, begin, end,
                        [=](const uint32_t* words) { return low + width * uniform_double(to_uint64(words)); });
  else
    fill_floating<1, C>(loop, begin, end, [low = float(low), width = float(width)](const uint32_t* words) {
      return low + width * uniform_float(*words);
    });
}
/// Normal distribution, by the Box-Muller method. Each number has its own pair of words, so that it does not depend on
/// its neighbours.
template <class C> void normal_body(const Loop& loop, int64_t begin, int64_t end) {
  const C mean = C(loop.scalars[0].real), std = C(loop.scalars[1].real);
  fill_floating<2, C>(loop, begin, end, [=](const uint32_t* words) {
    const uint32_t a = words[0], b = words[1];
    if constexpr (__is_same(C, double)) {
      const double u = (double(a) + 0.5) * 0x1p-32, v = double(b) * 0x1p-32;
      return mean + std * (::sqrt(-2.0 * ::log(u)) * ::cos(6.283185307179586 * v));
    } else {
      const float u = (float(a) + 0.5f) * 0x1p-32f, v = float(int32_t(b)) * 0x1p-32f;
      return mean + std * (math::sqrt(-2.0f * math::log(u)) * math::cos_of_turns(v));
    }
  });
}

/// Like fill_floating, for any dtype: integers are computed as int64 and wrap when they are stored.
template <int kWordsPerNumber, class C, class F>
void fill_converted(const Loop& loop, int64_t begin, int64_t end, const Converter& type, F f) {
  char* const y = data<char>(loop, 0);
  for_words<kWordsPerNumber>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    C values[kWords];
    for (int64_t i = 0; i < count; ++i) values[i] = f(words + kWordsPerNumber * i);
    type.convert(values, y + first * type.size, count);
  });
}
template <class C>
TANDEM_NOINLINE void bernoulli_as(const Loop& loop, int64_t begin, int64_t end, const Converter& type) {
  const float p = float(loop.scalars[0].real);
  fill_converted<1, C>(loop, begin, end, type,
                       [=](const uint32_t* words) { return C(uniform_float(*words) < p ? 1 : 0); });
}
template <class T> void bernoulli_body(const Loop& loop, int64_t begin, int64_t end) {
  bernoulli_as<Accumulate<T>>(loop, begin, end, output_converter<T, Accumulate<T>>());
}
/// Computes low + bits mod (high - low) from 64 random bits. The bias is below 2^-64 times (high - low).
template <class C>
TANDEM_NOINLINE void randint_as(const Loop& loop, int64_t begin, int64_t end, const Converter& type) {
  const int64_t low = loop.scalars[0].integer;
  const uint64_t width = uint64_t(loop.scalars[1].integer) - uint64_t(low);
  fill_converted<2, C>(loop, begin, end, type,
                       [=](const uint32_t* words) { return C(int64_t(uint64_t(low) + to_uint64(words) % width)); });
}
template <class T> void randint_body(const Loop& loop, int64_t begin, int64_t end) {
  randint_as<Accumulate<T>>(loop, begin, end, output_converter<T, Accumulate<T>>());
}
/// Dropout of elements [begin, end). Operands: y, mask (bool), x, state. Scalars: keep probability, scale, offset.
template <class C> void dropout_body(const Loop& loop, int64_t begin, int64_t end) {
  const OperandElements<C> result(loop, 0), elements(loop, 2);
  bool* const mask = data<bool>(loop, 1);
  const float keep = float(loop.scalars[0].real);
  const C scale = C(loop.scalars[1].real);
  for_words<1>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    C room[kWords];
    const C* const from = elements.read(first, count, room);
    C* const to = result.output_buffer(first, room);
    // Local copies, because the compiler has to assume that y aliases the captured variables.
    const float limit = keep;
    const C factor = scale;
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) mask[first + i] = uniform_float(words[i]) < limit;
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) {
      const C scaled = from[i] * factor;
      to[i] = uniform_float(words[i]) < limit ? scaled : C(0);
    }
    result.write(first, count, to);
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(uniform, uniform_body)
TANDEM_COMPUTE_TYPE_LOOP(normal, normal_body)
TANDEM_ALL_TYPES_DISPATCH_TABLE(bernoulli, TANDEM_TYPED_BODY, bernoulli_body)
TANDEM_ALL_TYPES_DISPATCH_TABLE(randint, TANDEM_TYPED_BODY, randint_body)
TANDEM_COMPUTE_TYPE_LOOP(dropout, dropout_body)
