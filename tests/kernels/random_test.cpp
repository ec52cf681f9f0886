// Tests random fills and dropout against numbers drawn one by one with code for the baseline CPU. Integers, uniforms
// and
// masks must have the same bits for every instruction set (TANDEM_CPU_ISA) and every split over threads.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/philox.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/randint.h"
#include "tandem/tests/catch.h"

using namespace tandem;
namespace kernel = tandem::kernels::cpu;

namespace {

constexpr int64_t kCount = 200003;  // several chunks, and not a multiple of a Philox block
constexpr uint64_t kSeed = 0x123456789abcdef0, kStream = 5, kOffset = 0x1ffffffff;
// draws add 7, which gives kOffset
const Tensor kState = tensor({int64_t{kSeed}, int64_t{kStream}, int64_t{kOffset} - 7}, kInt64);

Tensor drawn(DType dtype) { return core::empty({kCount}, dtype, Device(kCPU)); }
uint32_t word(int64_t i) { return philox32(kSeed, kStream, kOffset, uint64_t(i)); }
uint64_t wide(int64_t i) { return philox64(kSeed, kStream, kOffset, uint64_t(i)); }
template <class T, class Want> int64_t differences(const Tensor& y, Want want) {
  int64_t count = 0;
  for (int64_t i = 0; i < y.numel(); ++i) count += y.data<T>()[i] != want(i);
  return count;
}

}  // namespace

TEST_CASE("uniform numbers are bit-equal to one at a time", "[random]") {
  Tensor f = drawn(DType::float32), d = drawn(DType::float64);
  kernel::uniform(-0.1, 0.7, kState, 7, f);
  kernel::uniform(-0.1, 0.7, kState, 7, d);
  // Stored in volatile variables, so that no compiler fuses the product and the sum.
  volatile float f_product = 0;
  volatile double d_product = 0;
  const float f_width = float(0.7 - -0.1);
  CHECK(differences<float>(
            f, [&](int64_t i) { return f_product = f_width * uniform_float(word(i)), float(-0.1) + f_product; }) == 0);
  CHECK(differences<double>(
            d, [&](int64_t i) { return d_product = (0.7 - -0.1) * uniform_double(wide(i)), -0.1 + d_product; }) == 0);
}

TEST_CASE("integers and masks are bit-equal to one at a time", "[random]") {
  Tensor n = drawn(DType::int64), small = drawn(DType::uint8), coin = drawn(DType::boolean);
  kernel::randint(-7, 1000003, kState, 7, n);
  kernel::randint(0, 256, kState, 7, small);
  kernel::bernoulli(0.3, kState, 7, coin);
  CHECK(differences<int64_t>(n, [](int64_t i) { return -7 + int64_t(wide(i) % 1000010); }) == 0);
  CHECK(differences<uint8_t>(small, [](int64_t i) { return uint8_t(wide(i) % 256); }) == 0);
  CHECK(differences<bool>(coin, [](int64_t i) { return uniform_float(word(i)) < 0.3f; }) == 0);
}

TEST_CASE("dropout keeps what the mask says, and scales it", "[random]") {
  Tensor x = drawn(DType::float32), y = drawn(DType::float32), mask = drawn(DType::boolean);
  for (int64_t i = 0; i < kCount; ++i) x.data<float>()[i] = float(i % 17) - 8;
  kernel::dropout(x, 0.75, 2.0, kState, 7, y, mask);
  CHECK(differences<bool>(mask, [](int64_t i) { return uniform_float(word(i)) < 0.75f; }) == 0);
  CHECK(differences<float>(y, [&](int64_t i) { return mask.data<bool>()[i] ? x.data<float>()[i] * 2 : 0; }) == 0);
}

TEST_CASE("normal numbers are Box-Muller's, each of a pair of words of its own", "[random]") {
  Tensor f = drawn(DType::float32), d = drawn(DType::float64);
  kernel::normal(0, 1, kState, 7, f);
  kernel::normal(0, 1, kState, 7, d);
  double f_error = 0, d_error = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double u = (double(uint32_t(wide(i))) + 0.5) * 0x1p-32, v = double(wide(i) >> 32) * 0x1p-32;
    const double r = std::sqrt(-2 * std::log(u)), z = r * std::cos(6.283185307179586 * v);
    d_error = std::max(d_error, std::abs(d.data<double>()[i] - z));
    // Rounding u to float moves r by 2^-24 / r, which is much if r is small.
    f_error = std::max(f_error, std::abs(double(f.data<float>()[i]) - z) / (1 + 0x1p-4 / r));
  }
  CHECK(d_error < 1e-15 * 8);
  CHECK(f_error < 4e-6);  // float logarithm, root and cosine of numbers up to 6.8
}

TEST_CASE("normal numbers have the moments of a normal distribution", "[random]") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  Tensor y = drawn(dtype);
  kernel::normal(3, 2, kState, 7, y);
  double sum = 0, square = 0, fourth = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double z = ((dtype == DType::float32 ? double(y.data<float>()[i]) : y.data<double>()[i]) - 3) / 2;
    sum += z, square += z * z, fourth += z * z * z * z;
  }
  // Tolerance: five standard errors of 200,003 draws. The standard errors are 1, sqrt(2) and sqrt(96) over sqrt(n).
  CHECK(std::abs(sum / kCount) < 0.0112);
  CHECK(std::abs(square / kCount - 1) < 0.0159);
  CHECK(std::abs(fourth / kCount - 3) < 0.1096);
}

TEST_CASE("draws of any count in a row share no number of the stream", "[random]") {
  // A Philox block has two 64-bit numbers, so half a block is left over after an odd count.
  for (const int64_t first : {1, 2, 3, 4, 5, 7, 8, 255, 257}) {
    for (const DType dtype : {kFloat64, kFloat32, kInt64}) {
      manual_seed(3);
      const auto draw = [&](int64_t n) {
        const Tensor x = dtype == kInt64 ? randint(0, int64_t{1} << 62, {n}) : rand({n}, dtype);
        return x.to(kFloat64);
      };
      const Tensor a = draw(first), b = draw(9), both = cat({a, b});
      CAPTURE(first, dtype);
      CHECK((b.unsqueeze(1) == a.unsqueeze(0)).any().item<bool>() == false);
      CHECK((b.unsqueeze(1) == b.unsqueeze(0)).sum().item<int64_t>() == 9);
    }
  }
}
