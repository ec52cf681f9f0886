// Tests the scalar math functions against the C library in double, the half types over all bit patterns, and Philox
// against its published vectors. Uses no Tensor.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "tandem/kernels/functors.h"
#include "tandem/kernels/philox.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

/// Returns the largest error of f over every `step`-th float of [low, high], in units in the last place of the result.
template <class F, class Exact> double worst_ulp(float low, float high, uint32_t step, F f, Exact exact) {
  const auto ordered = [](float x) {  // maps floats to integers in the same order
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

TEST_CASE("float functions of one number are within a few units in the last place", "[functors][one_thread]") {
  // Error bounds were measured on these samples with and without fused multiply-adds, and rounded up. For results below
  // 2^-126 a unit is 2^-149.
  struct Row {
    const char* name;
    float low, high;
    uint32_t step;
    float (*f)(float);
    double (*exact)(double);
    double bound;
  };
  const uint32_t step = 509, fine = 101;  // primes, so that the sampled bit patterns are not regular
  const float large = 3.4e38f;
#define TANDEM_ROW_OF(name) #name, [](float x) { return math::name(x); }, [](double x) { return std::name(x); }
  const auto row = [](const char* name, float (*f)(float), double (*exact)(double), float low, float high,
                      uint32_t step, double bound) { return Row{name, low, high, step, f, exact, bound}; };
  const auto phi = [](double x) { return 0.5 * std::erfc(x * -std::sqrt(0.5)); };
  for (const Row& r : {
           row(TANDEM_ROW_OF(exp), -104, 89, step, 1.1),
           row(TANDEM_ROW_OF(expm1), -100, 89, step, 1.6),
           row(TANDEM_ROW_OF(log), 1e-45f, large, step, 0.9),
           row(TANDEM_ROW_OF(log), 0.5f, 2, 3, 0.9),
           row(TANDEM_ROW_OF(log2), 1e-45f, large, step, 1.4),
           row(TANDEM_ROW_OF(log2), 0.5f, 2, 3, 1.4),
           row(TANDEM_ROW_OF(log10), 1e-45f, large, step, 2),
           row(TANDEM_ROW_OF(log10), 0.5f, 2, 3, 2),
           row(TANDEM_ROW_OF(log1p), -1, large, step, 2.4),
           row(
               "log1p_of_fraction", [](float x) { return math::log1p_of_fraction(x); },
               [](double x) { return std::log1p(x); }, 0, 1, step, 2),
           row(TANDEM_ROW_OF(tanh), -20, 20, step, 2.5),
           row(
               "sigmoid", [](float x) { return math::sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); },
               -85, 85, step, 2.5),
           row(TANDEM_ROW_OF(erf), -6, 6, step, 1.3),
           row(TANDEM_ROW_OF(erfc), -20, 20, fine, 5),
           row(
               "phi", [](float x) { return math::normal(x).phi; }, phi, -14.5f, 20, fine, 5.5),
           row(
               "gelu", [](float x) { return math::gelu(x); },
               [](double x) { return 0.5 * x * std::erfc(x * -std::sqrt(0.5)); }, -12, 20, fine, 6.5),
           row(
               "erfinv", [](float x) { return math::erfinv(x); }, [](double x) { return math::erfinv(x); }, -1, 1, step,
               2.1),
           row(TANDEM_ROW_OF(exp2), -151, 129, step, 1.3),
           row(TANDEM_ROW_OF(sinh), -91, 91, step, 2.5),
           row(TANDEM_ROW_OF(cosh), -91, 91, step, 2),
           row(TANDEM_ROW_OF(asin), -1, 1, step, 4),
           row(TANDEM_ROW_OF(acos), -1, 1, step, 4),
           row(TANDEM_ROW_OF(atan), -large, large, step, 3),
           row(TANDEM_ROW_OF(asinh), -large, large, step, 4),
           row(TANDEM_ROW_OF(acosh), 1, large, step, 4),
           row(TANDEM_ROW_OF(atanh), -1, 1, step, 4),
           row(TANDEM_ROW_OF(sin), -large, large, step, 1.6),
           row(TANDEM_ROW_OF(cos), -large, large, step, 1.6),
           row(TANDEM_ROW_OF(tan), -large, large, step, 3.7),
           row(TANDEM_ROW_OF(sin), 1, math::kMaxFastAngle, fine, 1.6),
           row(TANDEM_ROW_OF(cos), 1, math::kMaxFastAngle, fine, 1.6),
           row(TANDEM_ROW_OF(tan), 1, math::kMaxFastAngle, fine, 3.7),
       }) {
    CAPTURE(r.name, r.low, r.high);
    constexpr uint32_t kEach = TANDEM_TEST_SANITIZED ? 20 : 1;  // sanitizers do not check rounding
    CHECK(worst_ulp(r.low, r.high, kEach * r.step, r.f, r.exact) <= r.bound);
  }
#undef TANDEM_ROW_OF
}

TEST_CASE("sine and cosine are right at the floats nearest to multiples of pi/2", "[functors][one_thread]") {
  // Floats nearest to k pi/2 cancel most in the range reduction. The C library's double functions reduce exactly.
  double worst = 0;
  for (int k = 1; k < 63000; ++k) {
    const float x = float(k * 1.57079632679489661923);
    const float s = math::sin(x), c = math::cos(x);
    worst = std::max(worst, std::fabs(double(s) - std::sin(double(x))) / std::fabs(std::sin(double(x))));
    worst = std::max(worst, std::fabs(double(c) - std::cos(double(x))) / std::fabs(std::cos(double(x))));
  }
  CHECK(worst <= 1.6 * 0x1p-23);
}

TEST_CASE("the slopes of gelu and silu are those of their definitions", "[functors][one_thread]") {
  double worst_gelu = 0, worst_silu = 0;  // absolute errors: both derivatives have a zero
  for (float x = -15; x < 15; x += 0.00037f) {
    const double at = x, density = std::exp(-0.5 * at * at) * 0.39894228040143267794;
    const double s = 1 / (1 + std::exp(-at));
    worst_gelu = std::max(worst_gelu,
                          std::fabs(math::gelu_derivative(x) - (0.5 * std::erfc(at * -std::sqrt(0.5)) + at * density)));
    worst_silu = std::max(worst_silu, std::fabs(math::silu_derivative(x) - s * (1 + at * (1 - s))));
  }
  CHECK(worst_gelu <= 4e-7);  // three roundings of numbers up to 1.13, and errors of their parts
  CHECK(worst_silu <= 1e-6);  // x (1 - s) multiplies the rounding error of 1 - s, at most 2^-24, by up to 15
}

TEST_CASE("float pow is within a unit in the last place, and keeps C's special values", "[functors][one_thread]") {
  const auto agrees = [](float a, float b) {
    const double want = std::pow(double(a), double(b));
    const float rounded = float(want), got = math::pow(a, b);
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(rounded) || rounded == 0) return got == rounded && std::signbit(got) == std::signbit(rounded);
    const float size = std::max(std::fabs(rounded), std::numeric_limits<float>::min());
    return std::fabs(double(got) - want) <= 0.6 * double(std::nextafter(size, kInf) - size);
  };
  std::vector<std::pair<float, float>> wrong;
  for (uint64_t i = 0; i < 1000000; ++i) {
    const PhiloxBlock random = philox(1, 0, i);
    const auto any = __builtin_bit_cast(float, random.word[0]), power = __builtin_bit_cast(float, random.word[1]);
    const float small = float(int32_t(random.word[2]) >> 24), near = 1 + float(int32_t(random.word[3])) * 0x1p-33f;
    for (const auto& [a, b] : {std::pair{any, power}, {any, small}, {near, small * 100}, {any, small / 64}})
      if (!agrees(a, b)) wrong.emplace_back(a, b);
  }
  const float special[] = {0,    0.5f,  1,    2,           3,           1e-45f,     1e-40f,     1.5f,
                           2.5f, 1e38f, kInf, 16777215.0f, 16777216.0f, 0.9999999f, 1.0000001f, kNaN};
  for (const float a : special)
    for (const float b : special)
      for (const auto& [x, y] : {std::pair{a, b}, {-a, b}, {a, -b}, {-a, -b}})
        if (!agrees(x, y)) wrong.emplace_back(x, y);
  for (const auto& [a, b] : wrong) UNSCOPED_INFO("pow(" << a << ", " << b << ") = " << math::pow(a, b));
  CHECK(wrong.empty());
}

TEST_CASE("float fmod is exact", "[functors][one_thread]") {
  const auto agrees = [](float a, float b) {
    const float want = std::fmod(a, b), got = math::fmod(a, b);
    return std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want);
  };
  int wrong = 0;
  for (uint64_t i = 0; i < 1000000; ++i) {
    const PhiloxBlock random = philox(2, 0, i);
    const auto a = __builtin_bit_cast(float, random.word[0]), b = __builtin_bit_cast(float, random.word[1]);
    const float near = a / float(1 + (random.word[2] >> (random.word[3] % 32)));  // a / near is close to an integer
    wrong += !agrees(a, b) + !agrees(a, near) + !agrees(a, std::nextafter(near, kInf)) + !agrees(near, a);
  }
  CHECK(wrong == 0);
  for (const float a : {0.0f, 1.0f, 5.5f, 1e-45f, 3e38f, kInf, kNaN})
    for (const float b : {0.0f, 1.0f, 2.0f, 1e-45f, 3e38f, kInf, kNaN})
      CHECK((agrees(a, b) && agrees(-a, b) && agrees(a, -b) && agrees(-a, -b)));
}

TEST_CASE("the exponential of numbers below zero is that of all numbers, bit for bit", "[functors][one_thread]") {
  int64_t differ = 0;
  for (uint64_t bits = 0x80000000; bits <= 0xff800000; bits += 997) {  // -0 to -infinity
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    differ += std::bit_cast<uint32_t>(math::exp(x)) != std::bit_cast<uint32_t>(math::exp_of_negative(x));
  }
  CHECK(differ == 0);
  CHECK(math::exp_of_negative(0.0f) == 1);
  CHECK(math::exp_of_negative(-kInf) == 0);
  for (const uint32_t nan : {0x7fc00000u, 0xffc00001u, 0x7fc001ffu})
    CHECK(std::isnan(math::exp_of_negative(std::bit_cast<float>(nan))));
}

TEST_CASE("float functions keep NaN, infinities, signed zeros and the ends of their range", "[functors][one_thread]") {
  for (const auto f : {+[](float x) { return math::exp(x); },
                       +[](float x) { return math::log(x); },
                       +[](float x) { return math::tanh(x); },
                       +[](float x) { return math::erf(x); },
                       +[](float x) { return math::expm1(x); },
                       +[](float x) { return math::log1p(x); },
                       +[](float x) { return math::sigmoid(x); },
                       +[](float x) { return math::log2(x); },
                       +[](float x) { return math::log10(x); },
                       +[](float x) { return math::erfc(x); },
                       +[](float x) { return math::sin(x); },
                       +[](float x) { return math::cos(x); },
                       +[](float x) { return math::tan(x); },
                       +[](float x) { return math::gelu(x); },
                       +[](float x) { return math::gelu_derivative(x); },
                       +[](float x) { return math::exp2(x); },
                       +[](float x) { return math::sinh(x); },
                       +[](float x) { return math::cosh(x); },
                       +[](float x) { return math::asin(x); },
                       +[](float x) { return math::acos(x); },
                       +[](float x) { return math::atan(x); },
                       +[](float x) { return math::asinh(x); },
                       +[](float x) { return math::acosh(x); },
                       +[](float x) { return math::atanh(x); },
                       +[](float x) { return math::erfinv(x); },
                       +[](float x) { return math::digamma(x); },
                       +[](float x) { return math::i0(x); }})
    CHECK(std::isnan(f(kNaN)));
  for (int k = -149; k < 128; ++k) CHECK(math::exp2(float(k)) == std::ldexp(1.0f, k));
  CHECK((math::exp2(kInf) == kInf && math::exp2(-kInf) == 0 && math::exp2(128.0f) == kInf));
  CHECK((math::sinh(-kInf) == -kInf && math::cosh(-kInf) == kInf && math::sinh(89.0f) < kInf));
  CHECK((math::asinh(-kInf) == -kInf && math::acosh(kInf) == kInf && math::acosh(1.0f) == 0));
  CHECK((math::atanh(1.0f) == kInf && math::atanh(-1.0f) == -kInf && math::acos(1.0f) == 0));
  for (const float beyond : {1.5f, -1.5f, kInf, -kInf})
    CHECK((std::isnan(math::asin(beyond)) && std::isnan(math::acos(beyond)) && std::isnan(math::atanh(beyond))));
  CHECK((std::isnan(math::acosh(0.5f)) && std::isnan(math::acosh(-2.0f)) && std::isnan(math::acosh(-kInf))));
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
  for (const auto f : {+[](float x) { return math::log2(x); }, +[](float x) { return math::log10(x); }}) {
    CHECK(f(1) == 0);
    CHECK(f(0) == -kInf);
    CHECK(f(kInf) == kInf);
    CHECK(std::isnan(f(-1)));
  }
  CHECK(math::log2(1e-45f) == -149);
  CHECK(math::log2(8.0f) == 3);
  CHECK(math::log10(1000.0f) == 3);
  CHECK(math::erfc(0.0f) == 1);
  CHECK(math::erfc(kInf) == 0);
  CHECK(math::erfc(-kInf) == 2);
  CHECK((math::erfinv(1.0f) == kInf && math::erfinv(-1.0f) == -kInf && is_zero_with_sign(math::erfinv(-0.0f), true)));
  for (const float beyond : {std::nextafter(1.0f, 2.0f), -2.0f, kInf, -kInf}) CHECK(std::isnan(math::erfinv(beyond)));
  CHECK(math::gelu(kInf) == kInf);
  CHECK(math::gelu_derivative(0.0f) == 0.5f);
  CHECK(math::cos(0.0f) == 1);
  CHECK(std::isnan(math::sin(kInf)));
  CHECK(std::isnan(math::cos(-kInf)));
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
    CHECK(is_zero_with_sign(math::sin(zero), negative));
    CHECK(is_zero_with_sign(math::sinh(zero), negative));
    CHECK(is_zero_with_sign(math::asin(zero), negative));
    CHECK(is_zero_with_sign(math::atan(zero), negative));
    CHECK(is_zero_with_sign(math::asinh(zero), negative));
    CHECK(is_zero_with_sign(math::atanh(zero), negative));
    CHECK(is_zero_with_sign(math::tan(zero), negative));
    CHECK(is_zero_with_sign(math::gelu(zero), negative));
    CHECK(is_zero_with_sign(math::expm1(zero), negative));
    CHECK(is_zero_with_sign(math::log1p(zero), negative));
  }
}

TEST_CASE("all 65536 patterns of the half types survive the way to float and back", "[half][one_thread]") {
  int lost = 0;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    Half h;
    h.bits = uint16_t(bits);
    BFloat16 b;
    b.bits = uint16_t(bits);
    const float from_h = float(h), from_b = float(b);
    lost += std::isnan(from_h) ? !std::isnan(float(Half(from_h))) : Half(from_h).bits != bits;
    lost += std::isnan(from_b) ? !std::isnan(float(BFloat16(from_b))) : BFloat16(from_b).bits != bits;
    // Expected value, from the definition of binary16.
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

TEST_CASE("a float rounds to the nearest half, ties to even, and overflows to infinity", "[half][one_thread]") {
  int wrong = 0;
  // between each finite pattern and the next one (after the last: 65536)
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
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
