// Tests the emulated instructions of tensor cores against matrix products by plain loops, and against the tables of the
// PTX ISA, which say which elements of a matrix each lane holds.
#include <bit>
#include <cmath>
#include <vector>

#include "tandem/emulation/tensor_core.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/emulation/grids.h"

using namespace tandem;
using namespace tandem::test;

namespace {

struct Place {
  unsigned row, column;
};
// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": the places of the elements of a lane. Element
// i of a and b is in half i % 2 of register i / 2.
Place place_in_a(unsigned lane, unsigned i) {
  const unsigned group = lane >> 2, thread = lane % 4;
  return {i < 2 || (4 <= i && i < 6) ? group : group + 8, thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Place place_in_b(unsigned lane, unsigned i) { return {lane % 4 * 2 + (i & 1) + (i >= 2 ? 8 : 0), lane >> 2}; }
Place place_in_c(unsigned lane, unsigned i) { return {(lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)}; }

/// Number between -8 and 8 that both half types represent exactly.
float number(unsigned i, unsigned j, unsigned salt) {
  return static_cast<float>((i * 31 + j * 17 + salt * 13 + i * j * 7) % 65) / 4 - 8;
}
template <class T> uint32_t pair_of(float low, float high) { return T(low).bits | uint32_t(T(high).bits) << 16; }

}  // namespace

TEMPLATE_TEST_CASE("the product of a warp is the product of its matrices", "[emulation]", Half, BFloat16) {
  float found[2][16][8];
  run(1, 64, [&] {
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t a[4], b[2];
    float d[4];
    const auto from_a = [&](unsigned i) {
      const Place at = place_in_a(lane, i);
      return number(at.row, at.column, warp);
    };
    const auto from_b = [&](unsigned i) {
      const Place at = place_in_b(lane, i);
      return number(at.row, at.column, 2 + warp);
    };
    for (unsigned r = 0; r < 4; ++r) a[r] = pair_of<TestType>(from_a(2 * r), from_a(2 * r + 1));
    for (unsigned r = 0; r < 2; ++r) b[r] = pair_of<TestType>(from_b(2 * r), from_b(2 * r + 1));
    for (unsigned i = 0; i < 4; ++i) d[i] = number(place_in_c(lane, i).row, place_in_c(lane, i).column, 4);
    emulation::multiply_matrices(std::is_same_v<TestType, BFloat16>, d, a, b, emulation::SourceLocation::here());
    for (unsigned i = 0; i < 4; ++i) found[warp][place_in_c(lane, i).row][place_in_c(lane, i).column] = d[i];
  });
  for (unsigned warp = 0; warp < 2; ++warp)
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 8; ++j) {
        double sum = number(i, j, 4);
        for (unsigned k = 0; k < 16; ++k) sum += double(number(i, k, warp)) * double(number(k, j, 2 + warp));
        CAPTURE(warp, i, j);
        REQUIRE(double(found[warp][i][j]) == sum);  // exact: multiples of 1/16 below 2^11
      }
}

TEST_CASE("the product of a warp rounds to float32, and keeps subnormal, infinite and NaN halves", "[emulation]") {
  const auto product = [](auto low, auto high, float start) {
    using T = decltype(low);
    std::vector<float> result = each<float>(32, [&] {
      uint32_t a[4], b[2];
      for (uint32_t& word : a) word = pair_of<T>(low, 0);
      for (uint32_t& word : b) word = pair_of<T>(high, 0);
      float d[4] = {start, start, start, start};
      emulation::multiply_matrices(std::is_same_v<T, BFloat16>, d, a, b, emulation::SourceLocation::here());
      return d[3];
    });
    return result[13];
  };
  // Each result is the sum of 8 products (every second k is 0).
  CHECK(product(Half(0x1p-24f), Half(0x1p-24f), 0) == 8 * 0x1p-48f);
  CHECK(product(BFloat16(0x1p-70f), BFloat16(0x1p-70f), 0) == 8 * 0x1p-140f);
  CHECK(product(Half(65504), Half(1), 0) == 8 * 65504.0f);
  CHECK(std::isinf(product(Half(HUGE_VALF), Half(1), 0)));
  CHECK(std::isnan(product(Half(NAN), Half(1), 0)));
  CHECK(product(BFloat16(1), BFloat16(1), 0x1p30f) == 0x1p30f);  // each addition of 1 is rounded away
}

TEST_CASE("a warp loads matrices by the addresses of their rows, also transposed", "[emulation]") {
  constexpr int kPitch = 24;  // elements; rows of the matrices lie apart, and in another order than in memory
  const auto address_row = [](unsigned lane) { return (lane * 5 + 3) % 32; };
  std::vector<uint32_t> plain(32 * 4), transposed(32 * 4), two(32 * 2), two_transposed(32 * 2);
  run(1, 32, [&] {
    TANDEM_SHARED(uint16_t, tile, [32 * kPitch]);
    const unsigned lane = threadIdx.x;
    for (unsigned j = 0; j < kPitch; ++j) tile[lane * kPitch + j] = static_cast<uint16_t>(lane * 100 + j);
    __syncwarp();
    const uint16_t* const row = tile + address_row(lane) * kPitch + 8;
    uint32_t to[4], pair[2];
    const auto keep = [&](auto& words, std::vector<uint32_t>& all) {
      for (size_t i = 0; i < std::size(words); ++i) all[lane * std::size(words) + i] = words[i];
    };
    emulation::load_matrices(to, row, false), keep(to, plain);
    emulation::load_matrices(to, row, true), keep(to, transposed);
    // with two matrices, the addresses of lanes 16 to 31 are ignored
    const uint16_t* const row_of_two = lane < 16 ? row : nullptr;
    emulation::load_matrices(pair, row_of_two, false), keep(pair, two);
    emulation::load_matrices(pair, row_of_two, true), keep(pair, two_transposed);
  });
  const auto element = [&](unsigned matrix, unsigned row, unsigned column) {
    return address_row(8 * matrix + row) * 100 + 8 + column;
  };
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      // PTX ISA, "ldmatrix": lane l holds elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4
      const unsigned row = lane / 4, column = lane % 4 * 2;
      const uint32_t words[2] = {element(matrix, row, column) | element(matrix, row, column + 1) << 16,
                                 element(matrix, column, row) | element(matrix, column + 1, row) << 16};
      CAPTURE(lane, matrix);
      REQUIRE(plain[lane * 4 + matrix] == words[0]);
      REQUIRE(transposed[lane * 4 + matrix] == words[1]);
      if (matrix >= 2) continue;
      REQUIRE(two[lane * 2 + matrix] == words[0]);
      REQUIRE(two_transposed[lane * 2 + matrix] == words[1]);
    }
}

TEST_CASE("a copy in the background arrives when its thread waits, and not before", "[emulation]") {
  alignas(16) uint32_t source[4 * 32];
  for (unsigned i = 0; i < 128; ++i) source[i] = i;
  const auto found = each<uint32_t>(32, [&] {
    TANDEM_SHARED(uint32_t, tile, [4 * 32]);
    const unsigned t = threadIdx.x;
    for (unsigned i = 0; i < 4; ++i) tile[4 * t + i] = 1000;
    emulation::copy_async(tile + 4 * t, source + 4 * t, t % 2 == 0);
    const bool waiting = tile[4 * t + 3] == 0xffffffffu;  // NaN
    emulation::wait_for_copies();
    return tile[4 * t + 3] + (waiting ? 5000 : 0);
  });
  for (unsigned t = 0; t < 32; ++t) REQUIRE(found[t] == 5000 + (t % 2 == 0 ? 4 * t + 3 : 0));
}

TEST_CASE("instructions of tensor cores refuse wrong addresses, and warps that are not whole", "[emulation]") {
  const Order order;
  const auto error = [](unsigned threads, const std::function<void(uint16_t*)>& f) {
    return error_of([&] {
      run(1, threads, [&] {
        TANDEM_SHARED(uint16_t, tile, [1024]);
        f(tile);
      });
    });
  };
  uint32_t to[4];
  alignas(16) uint16_t global[16] = {};
  CHECK_THAT(error(32, [&](uint16_t* tile) { emulation::load_matrices(to, tile + (threadIdx.x == 9 ? 4 : 0), false); }),
             Contains("thread (9, 0, 0): ldmatrix: the lane's address is not a multiple of 16"));
  CHECK_THAT(error(32, [&](uint16_t*) { emulation::load_matrices(to, global, true); }),
             Contains("ldmatrix.trans: the lane's address is not in the block's shared memory"));
  CHECK_THAT(error(32, [&](uint16_t* tile) { emulation::load_matrices(to, tile + 1024, false); }),
             Contains("not in the block's shared memory"));
  CHECK_THAT(error(20, [&](uint16_t* tile) { emulation::load_matrices(to, tile, false); }),
             Contains("ldmatrix: all 32 lanes of the warp must take part"));
  CHECK_THAT(error(32, [&](uint16_t* tile) { emulation::copy_async(tile + 1, global, true); }),
             Contains("cp.async: the lane's address is not a multiple of 16"));
  CHECK_THAT(error(32, [&](uint16_t* tile) { emulation::copy_async(tile, global + 1, true); }),
             Contains("cp.async: the source address is not a multiple of 16"));
  CHECK_THAT(error(32,
                   [&](uint16_t*) {
                     if (threadIdx.x == 5) return;
                     float d[4] = {};
                     const uint32_t a[4] = {}, b[2] = {};
                     emulation::multiply_matrices(true, d, a, b, emulation::SourceLocation::here());
                   }),
             Contains("mma.bf16: all 32 lanes of the warp must take part"));
}
