// Rows of random fills and of dropout. Compiled without contraction into fused multiply-adds, so that integers,
// uniforms and masks are bit-equal on every instruction set. Scalars: two parameters, offset. Operands are contiguous;
// the last one is Philox's state {seed, stream, block}.
#include "tandem/kernels/cpu/loops/elementwise.h"
#include "tandem/kernels/philox.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

template <class T> T* contiguous(const Loop& loop, int k) {
  return reinterpret_cast<T*>(loop.operands[k].buffer->data + loop.operands[k].offset);
}
constexpr int64_t kBlocks = 64;  // Philox blocks at a time, side by side
constexpr int64_t kWords = 4 * kBlocks;

/// The words of `count` blocks from `first` on, as philox() has them one by one. Round by round over all blocks, so
/// that the blocks fill vectors; `count` is rounded up to whole vectors.
void philox_tile(uint64_t seed, uint64_t stream, uint64_t first, int64_t count, uint32_t* words) {
  uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  uint32_t k0 = uint32_t(seed), k1 = uint32_t(seed >> 32);
  count = (count + 15) / 16 * 16;
  for (int64_t b = 0; b < count; ++b) {
    const uint64_t block = first + uint64_t(b);
    c0[b] = uint32_t(block), c1[b] = uint32_t(block >> 32), c2[b] = uint32_t(stream), c3[b] = uint32_t(stream >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int64_t b = 0; b < count; ++b) {
      const PhiloxBlock next = philox_round({{c0[b], c1[b], c2[b], c3[b]}}, k0, k1);
      c0[b] = next.word[0], c1[b] = next.word[1], c2[b] = next.word[2], c3[b] = next.word[3];
    }
    k0 += kPhiloxStep0, k1 += kPhiloxStep1;
  }
  for (int64_t b = 0; b < count; ++b)
    words[4 * b] = c0[b], words[4 * b + 1] = c1[b], words[4 * b + 2] = c2[b], words[4 * b + 3] = c3[b];
}

/// f(first, count, words) for tiles of the numbers [begin, end) of a draw: words[i * kEach] is where number first + i
/// starts, which takes kEach words of 32 bits.
template <int kEach, class F> void for_words(const Loop& loop, int64_t begin, int64_t end, F f) {
  const uint64_t* const state = contiguous<const uint64_t>(loop, loop.operand_count - 1);
  const uint64_t seed = state[0], stream = state[1], offset = state[2] + uint64_t(loop.scalars[2].integer);
  uint32_t words[kWords];
  while (begin < end) {
    const int64_t skipped = begin * kEach % 4, room = (kWords - skipped) / kEach;
    const int64_t count = end - begin < room ? end - begin : room;
    philox_tile(seed, stream, offset + uint64_t(begin * kEach / 4), (skipped + count * kEach + 3) / 4, words);
    f(begin, count, words + skipped);
    begin += count;
  }
}
uint64_t wide(const uint32_t* words) { return uint64_t(words[1]) << 32 | words[0]; }

template <class T> void uniform_body(const Loop& loop, int64_t begin, int64_t end) {
  T* const y = contiguous<T>(loop, 0);
  const double low = loop.scalars[0].real, width = loop.scalars[1].real - low;
  constexpr int kEach = sizeof(T) == 8 ? 2 : 1;
  for_words<kEach>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (sizeof(T) == 8)
        y[first + i] = low + width * uniform_double(wide(words + 2 * i));
      else
        y[first + i] = T(float(low) + float(width) * uniform_float(words[i]));
    }
  });
}

/// Box-Muller; each number uses a pair of its own, so that it depends on nothing beside it.
template <class T> void normal_body(const Loop& loop, int64_t begin, int64_t end) {
  T* const y = contiguous<T>(loop, 0);
  const double mean = loop.scalars[0].real, std = loop.scalars[1].real;
  for_words<2>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t a = words[2 * i], b = words[2 * i + 1];
      if constexpr (sizeof(T) == 8) {
        const double u = (double(a) + 0.5) * 0x1p-32, v = double(b) * 0x1p-32;
        y[first + i] = mean + std * (::sqrt(-2.0 * ::log(u)) * ::cos(6.283185307179586 * v));
      } else {
        const float u = (float(a) + 0.5f) * 0x1p-32f, v = float(int32_t(b)) * 0x1p-32f;
        y[first + i] = T(float(mean) + float(std) * (math::sqrt(-2.0f * math::log(u)) * math::cos_of_turns(v)));
      }
    }
  });
}
template <class T> void bernoulli_body(const Loop& loop, int64_t begin, int64_t end) {
  T* const y = contiguous<T>(loop, 0);
  const float p = float(loop.scalars[0].real);
  using C = Upcast<T>;
  for_words<1>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    for (int64_t i = 0; i < count; ++i) y[first + i] = T(C(uniform_float(words[i]) < p ? 1 : 0));
  });
}
/// low + bits mod (high - low), from 64 bits: the bias is below 2^-64 times the width.
template <class T> void randint_body(const Loop& loop, int64_t begin, int64_t end) {
  T* const y = contiguous<T>(loop, 0);
  const int64_t low = loop.scalars[0].integer;
  const uint64_t width = uint64_t(loop.scalars[1].integer) - uint64_t(low);
  using C = Upcast<T>;
  for_words<2>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    for (int64_t i = 0; i < count; ++i) y[first + i] = T(C(int64_t(uint64_t(low) + wide(words + 2 * i) % width)));
  });
}
/// Operands: y, mask (bool), x, state. Scalars: keep probability, scale, offset.
template <class T> void dropout_body(const Loop& loop, int64_t begin, int64_t end) {
  using C = Upcast<T>;
  T* const y = contiguous<T>(loop, 0);
  bool* const mask = contiguous<bool>(loop, 1);
  const T* const x = contiguous<T>(loop, 2);
  const float keep = float(loop.scalars[0].real);
  const C scale = C(loop.scalars[1].real);
  for_words<1>(loop, begin, end, [&](int64_t first, int64_t count, const uint32_t* words) {
    T* const to = y + first;
    const T* const from = x + first;
    const float limit = keep;  // copies: what the closure refers to, y could be
    const C factor = scale;
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) mask[first + i] = uniform_float(words[i]) < limit;
    TANDEM_IVDEP
    for (int64_t i = 0; i < count; ++i) {
      const C scaled = C(from[i]) * factor;
      to[i] = T(uniform_float(words[i]) < limit ? scaled : C(0));
    }
  });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_FLOATING_ROW(uniform, TANDEM_BY_TYPE, uniform_body)
TANDEM_FLOATING_ROW(normal, TANDEM_BY_TYPE, normal_body)
TANDEM_ALL_ROW(bernoulli, TANDEM_BY_TYPE, bernoulli_body)
TANDEM_ALL_ROW(randint, TANDEM_BY_TYPE, randint_body)
TANDEM_FLOATING_ROW(dropout, TANDEM_BY_TYPE, dropout_body)
