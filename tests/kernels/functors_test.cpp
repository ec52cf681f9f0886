// The scalar math against the C library in double, the half types over all their patterns, and Philox against its
// published vectors. Nothing of Tensor.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "tandem/kernels/functors.h"
#include "tandem/kernels/philox.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// The largest error over the floats of [low, high], every `step`-th pattern of them, in units of the result's last
/// place.
template <class F, class Exact> double worst_ulp(float low, float high, uint32_t step, F f, Exact exact) {
  const auto ordered = [](float x) {  // floats in their order, as integers
    const int32_t i = __builtin_bit_cast(int32_t, x);
    return int64_t(i < 0 ? INT32_MIN - i : i);
  };
  double worst = 0;
  for (int64_t i = ordered(low), end = ordered(high); i <= end; i += step) {
    const float x = __builtin_bit_cast(float, int32_t(i < 0 ? INT32_MIN - i : i));
    const double want = exact(double(x));
    const float rounded = float(want), got = f(x);
    if (std::isinf(rounded)) {
      worst = got == rounded ? worst : 1e30;
      continue;
    }
    const float size = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
    const double error = std::fabs(double(got) - want) / double(std::nextafter(size, kInf) - size);
    worst = error > worst || std::isnan(error) ? error : worst;
  }
  return worst;
}
bool is_zero_with_sign(float x, bool negative) { return x == 0 && std::signbit(x) == negative; }

}  // namespace

TEST_CASE("float exp, log, tanh, sigmoid, erf, expm1 and log1p are within a few units in the last place",
          "[functors]") {
  // Bounds: measured over these samples with and without fused multiply-adds, rounded up. Results below 2^-126 count in
  // units of 2^-149.
  const uint32_t step = 509;  // a prime: patterns of no regular spacing
  CHECK(worst_ulp(
            -104, 89, step, [](float x) { return math::exp(x); }, [](double x) { return std::exp(x); }) <= 1);
  CHECK(worst_ulp(
            1e-45f, 3.4e38f, step, [](float x) { return math::log(x); }, [](double x) { return std::log(x); }) <= 0.9);
  CHECK(worst_ulp(
            0.5f, 2, 3, [](float x) { return math::log(x); }, [](double x) { return std::log(x); }) <= 0.9);
  CHECK(worst_ulp(
            -20, 20, step, [](float x) { return math::tanh(x); }, [](double x) { return std::tanh(x); }) <= 1.3);
  CHECK(worst_ulp(
            -85, 85, step, [](float x) { return math::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }) <=
        2.2);
  CHECK(worst_ulp(
            -6, 6, step, [](float x) { return math::erf(x); }, [](double x) { return std::erf(x); }) <= 1.3);
  CHECK(worst_ulp(
            -100, 89, step, [](float x) { return math::expm1(x); }, [](double x) { return std::expm1(x); }) <= 1.5);
  CHECK(worst_ulp(
            -1, 3.4e38f, step, [](float x) { return math::log1p(x); }, [](double x) { return std::log1p(x); }) <= 2.4);
}

TEST_CASE("float functions keep NaN, infinities, signed zeros and the ends of their range", "[functors]") {
  for (const auto f : {+[](float x) { return math::exp(x); }, +[](float x) { return math::log(x); },
                       +[](float x) { return math::tanh(x); }, +[](float x) { return math::erf(x); },
                       +[](float x) { return math::expm1(x); }, +[](float x) { return math::log1p(x); },
                       +[](float x) { return math::sigmoid(x); }})
    CHECK(std::isnan(f(kNaN)));
  CHECK(math::exp(0.0f) == 1);
  CHECK(math::exp(kInf) == kInf);
  CHECK(math::exp(-kInf) == 0);
  CHECK(math::exp(88.7f) < kInf);
  CHECK(math::exp(88.73f) == kInf);
  CHECK(math::log(1.0f) == 0);
  CHECK(math::log(0.0f) == -kInf);
  CHECK(math::log(-0.0f) == -kInf);
  CHECK(math::log(kInf) == kInf);
  CHECK(std::isnan(math::log(-1.0f)));
  CHECK(math::tanh(kInf) == 1);
  CHECK(math::tanh(-kInf) == -1);
  CHECK(math::erf(kInf) == 1);
  CHECK(math::erf(-kInf) == -1);
  CHECK(math::sigmoid(0.0f) == 0.5f);
  CHECK(math::sigmoid(kInf) == 1);
  CHECK(math::sigmoid(-kInf) == 0);
  CHECK(math::expm1(kInf) == kInf);
  CHECK(math::expm1(-kInf) == -1);
  CHECK(math::log1p(-1.0f) == -kInf);
  CHECK(math::log1p(kInf) == kInf);
  CHECK(std::isnan(math::log1p(-1.5f)));
  for (const bool negative : {false, true}) {
    const float zero = negative ? -0.0f : 0.0f;
    CHECK(is_zero_with_sign(math::tanh(zero), negative));
    CHECK(is_zero_with_sign(math::erf(zero), negative));
    CHECK(is_zero_with_sign(math::expm1(zero), negative));
    CHECK(is_zero_with_sign(math::log1p(zero), negative));
  }
}

TEST_CASE("all 65536 patterns of the half types survive the way to float and back", "[half]") {
  int lost = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half h;
    h.bits = uint16_t(bits);
    BFloat16 b;
    b.bits = uint16_t(bits);
    const float from_h = float(h), from_b = float(b);
    lost += std::isnan(from_h) ? !std::isnan(float(Half(from_h))) : Half(from_h).bits != bits;
    lost += std::isnan(from_b) ? !std::isnan(float(BFloat16(from_b))) : BFloat16(from_b).bits != bits;
    // The value, from the definition of binary16.
    const int exponent = int(bits >> 10 & 31), fraction = int(bits & 1023);
    const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    const double want = exponent == 31 ? double(kInf) : size;
    if (exponent == 31 && fraction)
      lost += !std::isnan(from_h);
    else
      lost += double(from_h) != (bits >> 15 ? -want : want);
  }
  CHECK(lost == 0);
}

TEST_CASE("a float rounds to the nearest half, ties to even, and overflows to infinity", "[half]") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {  // between each finite pattern and the next (the last: 65536)
    Half low, high;
    low.bits = uint16_t(bits), high.bits = uint16_t(bits + 1);
    const float a = float(low), b = bits + 1 == 0x7c00 ? 65536.0f : float(high), middle = a + (b - a) / 2;
    const uint32_t even = bits + (bits & 1);
    for (const uint32_t sign : {0u, 0x8000u}) {
      const float s = sign ? -1.0f : 1.0f;
      wrong += Half(s * std::nextafter(middle, 0.0f)).bits != (bits | sign);
      wrong += Half(s * middle).bits != (even | sign);
      wrong += Half(s * std::nextafter(middle, kInf)).bits != ((bits + 1) | sign);
    }
  }
  CHECK(wrong == 0);
  wrong = 0;
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const auto as_float = [](uint32_t u) { return __builtin_bit_cast(float, u); };
    const uint32_t middle = bits << 16 | 0x8000;
    wrong += BFloat16(as_float(middle - 1)).bits != bits;
    wrong += BFloat16(as_float(middle)).bits != bits + (bits & 1);
    wrong += BFloat16(as_float(middle + 1)).bits != bits + 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("Philox 4x32-10 gives the vectors published with Random123", "[philox]") {
  const auto is = [](const PhiloxBlock& b, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
    return b.word[0] == w0 && b.word[1] == w1 && b.word[2] == w2 && b.word[3] == w3;
  };
  CHECK(is(philox(0, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  CHECK(is(philox(~uint64_t(0), ~uint64_t(0), ~uint64_t(0)), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  CHECK(is(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88), 0xd16cfe09, 0x94fdcceb, 0x5001e420,
           0x24126ea1));
}

TEST_CASE("an element's number depends on its index alone", "[philox]") {
  for (uint64_t i = 0; i < 64; ++i) {
    const PhiloxBlock four = philox(7, 3, 100 + i / 4), two = philox(7, 3, 100 + i / 2);
    CHECK(philox32(7, 3, 100, i) == four.word[i % 4]);
    CHECK(philox64(7, 3, 100, i) == (uint64_t(two.word[i % 2 * 2 + 1]) << 32 | two.word[i % 2 * 2]));
  }
  CHECK(uniform_float(0) == 0);
  CHECK(uniform_float(~uint32_t(0)) == 1 - 0x1p-24f);
  CHECK(uniform_double(0) == 0);
  CHECK(uniform_double(~uint64_t(0)) == 1 - 0x1p-53);
}
