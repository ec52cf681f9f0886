// Tests the traversal that all elementwise loops share: every layout and dtype, against elements computed one by one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tandem/core/dtype.h"
#include "tandem/core/tensor.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/tests/catch.h"

using namespace tandem;
namespace kernel = tandem::kernels::cpu;

namespace {

constexpr DType kAll[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16, DType::int64,
                          DType::int32,   DType::int16,   DType::int8,    DType::uint8,    DType::boolean};

Tensor make(std::vector<int64_t> sizes, DType dtype) { return core::empty(sizes, dtype, Device(kCPU)); }
/// Writes `value` to element i of the storage, converted to its dtype.
void put(const Tensor& t, int64_t i, double value) {
  char* const at = static_cast<char*>(t.raw_data()) + i * t.itemsize();
  switch (t.dtype()) {
    case DType::float32: *reinterpret_cast<float*>(at) = float(value); break;
    case DType::float64: *reinterpret_cast<double*>(at) = value; break;
    case DType::float16: *reinterpret_cast<Half*>(at) = Half(float(value)); break;
    case DType::bfloat16: *reinterpret_cast<BFloat16*>(at) = BFloat16(float(value)); break;
    case DType::int64: *reinterpret_cast<int64_t*>(at) = int64_t(value); break;
    case DType::int32: *reinterpret_cast<int32_t*>(at) = int32_t(value); break;
    case DType::int16: *reinterpret_cast<int16_t*>(at) = int16_t(value); break;
    case DType::int8: *reinterpret_cast<int8_t*>(at) = int8_t(value); break;
    case DType::uint8: *reinterpret_cast<uint8_t*>(at) = uint8_t(int64_t(value)); break;
    case DType::boolean: *reinterpret_cast<bool*>(at) = value != 0; break;
  }
}
double get(const Tensor& t, int64_t i) {
  const char* const at = static_cast<const char*>(t.raw_data()) + i * t.itemsize();
  switch (t.dtype()) {
    case DType::float32: return double(*reinterpret_cast<const float*>(at));
    case DType::float64: return *reinterpret_cast<const double*>(at);
    case DType::float16: return double(float(*reinterpret_cast<const Half*>(at)));
    case DType::bfloat16: return double(float(*reinterpret_cast<const BFloat16*>(at)));
    case DType::int64: return double(*reinterpret_cast<const int64_t*>(at));
    case DType::int32: return *reinterpret_cast<const int32_t*>(at);
    case DType::int16: return *reinterpret_cast<const int16_t*>(at);
    case DType::int8: return *reinterpret_cast<const int8_t*>(at);
    case DType::uint8: return *reinterpret_cast<const uint8_t*>(at);
    case DType::boolean: return *reinterpret_cast<const bool*>(at);
  }
  return 0;
}
/// Returns element (r, c) of a matrix with any strides, including a broadcast one.
double entry(const Tensor& t, int64_t r, int64_t c) {
  return get(t, (t.size(0) == 1 ? 0 : r * t.stride(0)) + (t.size(1) == 1 ? 0 : c * t.stride(1)));
}
/// Returns small integers that every dtype represents, together with their sums and products.
Tensor counted(std::vector<int64_t> sizes, DType dtype, int64_t salt) {
  Tensor t = make(std::move(sizes), dtype);
  for (int64_t i = 0; i < t.numel(); ++i)
    put(t, i, dtype == DType::boolean ? double((i * 7 + salt) % 3 == 0) : double((i * 7 + salt) % 11));
  return t;
}
/// Returns inputs that broadcast to (rows, cols) in several layouts: contiguous, transposed, every second column, one
/// row,
/// one column, one element.
std::vector<Tensor> layouts(int64_t rows, int64_t cols, DType dtype, int64_t salt) {
  return {counted({rows, cols}, dtype, salt),
          core::transpose(counted({cols, rows}, dtype, salt), 0, 1),
          core::as_strided(counted({rows, cols * 2}, dtype, salt), {rows, cols}, {cols * 2, 2}, 1),
          counted({1, cols}, dtype, salt),
          counted({rows, 1}, dtype, salt),
          counted({1, 1}, dtype, salt)};
}
template <class Want> bool matches(const Tensor& y, Want want) {
  for (int64_t r = 0; r < y.size(0); ++r)
    for (int64_t c = 0; c < y.size(1); ++c)
      if (entry(y, r, c) != want(r, c)) {
        UNSCOPED_INFO("element " << r << ", " << c << " is " << entry(y, r, c) << ", not " << want(r, c));
        return false;
      }
  return true;
}

}  // namespace

TEST_CASE("binary loops agree with one element at a time in every layout and dtype", "[loops][one_thread]") {
  const DType dtype = GENERATE(from_range(std::begin(kAll), std::end(kAll)));
  const auto [rows, cols] = GENERATE(std::pair<int64_t, int64_t>{37, 71}, std::pair<int64_t, int64_t>{3, 700},
                                     std::pair<int64_t, int64_t>{130, 10}, std::pair<int64_t, int64_t>{1, 1});
  CAPTURE(name(dtype), rows, cols);
  for (const Tensor& a : layouts(rows, cols, dtype, 1))
    for (const Tensor& b : layouts(rows, cols, dtype, 5))
      for (Tensor& y :
           std::vector<Tensor>{make({rows, cols}, dtype), core::transpose(make({cols, rows}, dtype), 0, 1)}) {
        kernel::mul(a, b, y);
        CHECK(matches(y, [&](int64_t r, int64_t c) { return entry(a, r, c) * entry(b, r, c); }));
        kernel::maximum(a, b, y);
        CHECK(matches(y, [&](int64_t r, int64_t c) { return std::max(entry(a, r, c), entry(b, r, c)); }));
        Tensor less = make({rows, cols}, DType::boolean);
        kernel::lt(a, b, less);
        CHECK(matches(less, [&](int64_t r, int64_t c) { return entry(a, r, c) < entry(b, r, c); }));
        kernel::where(less, a, b, y);
        CHECK(matches(y, [&](int64_t r, int64_t c) { return entry(less, r, c) ? entry(a, r, c) : entry(b, r, c); }));
      }
}

TEST_CASE("a loop may write what it reads", "[loops]") {
  const DType dtype = GENERATE(DType::float32, DType::float64, DType::bfloat16, DType::int64, DType::int8);
  const bool transposed = GENERATE(false, true);
  Tensor x = counted({61, 83}, dtype, 2), before = counted({61, 83}, dtype, 2);
  if (transposed) x = core::transpose(x, 0, 1), before = core::transpose(before, 0, 1);
  kernel::square(x, x);
  CHECK(matches(x, [&](int64_t r, int64_t c) { return entry(before, r, c) * entry(before, r, c); }));
}

TEST_CASE("every dtype casts to every other, and copies within itself, in any layout", "[loops][one_thread]") {
  const DType from = GENERATE(from_range(std::begin(kAll), std::end(kAll)));
  const DType to = GENERATE(from_range(std::begin(kAll), std::end(kAll)));
  CAPTURE(name(from), name(to));
  for (const Tensor& x : layouts(67, 301, from, 3))
    for (Tensor& y : std::vector<Tensor>{make({67, 301}, to), core::transpose(make({301, 67}, to), 0, 1)}) {
      kernel::copy(x, y);
      CHECK(matches(y, [&](int64_t r, int64_t c) {
        return to == DType::boolean ? double(entry(x, r, c) != 0) : entry(x, r, c);
      }));
    }
}

TEST_CASE("a transposed copy of three dimensions is right wherever the threads cut it", "[loops]") {
  const int64_t a = 5, b = 150, c = 210;  // more elements than one chunk
  Tensor x = counted({a, c, b}, DType::float32, 0), y = make({a, b, c}, DType::float32);
  for (int64_t i = 0; i < x.numel(); ++i) put(x, i, double(i));
  kernel::copy(core::transpose(x, 1, 2), y);
  bool same = true;
  for (int64_t i = 0; i < a; ++i)
    for (int64_t j = 0; j < b; ++j)
      for (int64_t k = 0; k < c; ++k) same = same && get(y, (i * b + j) * c + k) == double((i * c + k) * b + j);
  CHECK(same);
}

TEST_CASE("a copy past the cache writes all of its bytes and no others, wherever they lie", "[loops]") {
  constexpr int64_t n = (int64_t(64) << 20) + 13, kRoom = 64;
  Tensor from = make({n + kRoom}, DType::uint8), to = make({n + kRoom}, DType::uint8);
  char *const x = static_cast<char*>(from.raw_data()), *const y = static_cast<char*>(to.raw_data());
  for (int64_t i = 0; i + 8 <= n + kRoom; i += 8) {
    const uint64_t word = uint64_t(i) * 0x9e3779b97f4a7c15;
    std::memcpy(x + i, &word, 8);
  }
  for (const int64_t at : {0, 5}) {
    std::memset(y, 0x5a, static_cast<size_t>(n + kRoom));
    Tensor part = core::narrow(to, 0, at, n);
    kernel::copy(core::narrow(from, 0, 3, n), part);
    CHECK(std::memcmp(y + at, x + 3, static_cast<size_t>(n)) == 0);
    CHECK(std::all_of(y, y + at, [](char c) { return c == 0x5a; }));
    CHECK(std::all_of(y + at + n, y + n + kRoom, [](char c) { return c == 0x5a; }));
  }
}

TEST_CASE("integers are exact, wrap as PyTorch's do, and floats become integers by truncation", "[loops]") {
  const auto binary = [](DType dtype, double a, double b, auto run) {
    Tensor x = make({1}, dtype), z = make({1}, dtype), y = make({1}, dtype);
    put(x, 0, a), put(z, 0, b);
    run(x, z, y);
    return get(y, 0);
  };
  const auto add = [](const Tensor& a, const Tensor& b, Tensor& y) { kernel::add(a, b, 1, y); };
  const auto sub = [](const Tensor& a, const Tensor& b, Tensor& y) { kernel::add(a, b, -1, y); };
  CHECK(binary(DType::uint8, 200, 100, add) == 44);
  CHECK(binary(DType::uint8, 1, 2, sub) == 255);
  CHECK(binary(DType::int8, 127, 1, add) == -128);
  CHECK(binary(DType::int32, 2147483647, 1, add) == -2147483648.0);
  CHECK(binary(DType::uint8, 200, 255, kernel::remainder) == 200);
  CHECK(binary(DType::uint8, 200, 255, kernel::floor_divide) == 0);
  CHECK(binary(DType::int32, -7, 2, kernel::floor_divide) == -4);
  CHECK(binary(DType::int32, -7, 2, kernel::remainder) == 1);
  CHECK(binary(DType::int32, -7, 2, kernel::fmod) == -1);
  CHECK(binary(DType::int32, -2147483648.0, -1, kernel::floor_divide) == -2147483648.0);
  CHECK(binary(DType::int16, 3, 5, kernel::pow) == 243);
  CHECK(binary(DType::int64, -1, -3, kernel::pow) == -1);
  CHECK(binary(DType::boolean, 1, 1, kernel::bitwise_xor) == 0);

  Tensor wide = make({1}, DType::int64), copied = make({1}, DType::int64);
  *wide.data<int64_t>() = (int64_t(1) << 53) + 1;  // no double represents it
  kernel::copy(wide, copied);
  CHECK(*copied.data<int64_t>() == *wide.data<int64_t>());

  const auto cast = [](double value, DType to) {
    Tensor x = make({1}, DType::float32), y = make({1}, to);
    put(x, 0, value);
    kernel::copy(x, y);
    return get(y, 0);
  };
  CHECK(cast(-1.5, DType::int32) == -1);
  CHECK(cast(300, DType::uint8) == 44);
  CHECK(cast(-3, DType::uint8) == 253);
  CHECK(cast(40000, DType::int8) == 64);
  CHECK(cast(0.5, DType::boolean) == 1);
  CHECK(cast(std::nan(""), DType::boolean) == 1);
}

TEST_CASE("edge values of floats are PyTorch's", "[loops]") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const DType dtype = GENERATE(DType::float32, DType::float64, DType::float16);
  const auto binary = [&](double a, double b, auto run) {
    Tensor x = make({1}, dtype), z = make({1}, dtype), y = make({1}, dtype);
    put(x, 0, a), put(z, 0, b);
    run(x, z, y);
    return get(y, 0);
  };
  CHECK(binary(1, 0, kernel::floor_divide) == inf);
  CHECK(binary(5, -inf, kernel::floor_divide) == -1);
  CHECK(binary(-5, inf, kernel::floor_divide) == -1);
  CHECK(std::isnan(binary(inf, 1, kernel::floor_divide)));
  CHECK(binary(-1, inf, kernel::remainder) == inf);
  CHECK(binary(1, inf, kernel::remainder) == 1);
  CHECK(std::isnan(binary(5, 0, kernel::remainder)));
  CHECK(std::isnan(binary(nan, 1, kernel::maximum)));
  CHECK(std::isnan(binary(1, nan, kernel::minimum)));
  CHECK(binary(1, nan, kernel::relu_backward) == 1);  // a saved NaN passes the gradient on
  CHECK(binary(1, 0, kernel::relu_backward) == 0);
  const auto clamp = [&](double x, double low, double high) {
    Tensor in = make({1}, dtype), y = make({1}, dtype);
    put(in, 0, x);
    kernel::clamp(in, low, high, y);
    return get(y, 0);
  };
  CHECK(clamp(1, 5, 2) == 2);  // if min > max, the result is max
  CHECK(std::isnan(clamp(nan, 0, 1)));
  const auto unary = [&](double x, auto run) {
    return binary(x, 0, [&](const Tensor& a, const Tensor&, Tensor& y) { run(a, y); });
  };
  CHECK(unary(2.5, kernel::round) == 2);
  CHECK(unary(-0.5, kernel::round) == 0);
  CHECK(unary(nan, kernel::sign) == 0);
  CHECK(std::isnan(unary(nan, kernel::relu)));
}

TEST_CASE("an element's sine or remainder does not depend on a huge neighbour, in place either", "[loops]") {
  // A loop recomputes the few hard arguments of a block separately. The other elements must have the same bits as in a
  // block without hard arguments.
  const int64_t n = 1000;
  const auto fill = [&](const Tensor& t, bool with_hard) {
    for (int64_t i = 0; i < n; ++i) put(t, i, with_hard && i % 97 == 5 ? 3e30 : 0.37 * double(i - 500));
  };
  const auto divide = [](auto op) {
    return [op](const Tensor& x, Tensor& y) {
      Tensor b = make({n}, DType::float32);
      for (int64_t i = 0; i < n; ++i) put(b, i, 0.7 + 0.001 * double(i));
      op(x, b, y);
    };
  };
  int differ = 0, wrong = 0;
  const auto check = [&](auto op, auto exact) {
    Tensor fast_path = make({n}, DType::float32), mixed = make({n}, DType::float32), y = make({n}, DType::float32);
    fill(fast_path, false), fill(mixed, true);
    op(fast_path, y);
    op(mixed, mixed);
    for (int64_t i = 0; i < n; ++i) {
      if (i % 97 != 5) differ += get(y, i) != get(mixed, i);
      const double want = exact(i % 97 == 5 ? 3e30f : float(0.37 * double(i - 500)), float(0.7 + 0.001 * double(i)));
      wrong += std::fabs(get(mixed, i) - want) > 4e-7 * std::max(1.0, std::fabs(want));  // a few float roundings
    }
  };
  check(kernel::sin, [](float x, float) { return std::sin(double(x)); });
  check(kernel::cos, [](float x, float) { return std::cos(double(x)); });
  check(kernel::tan, [](float x, float) { return std::tan(double(x)); });
  check(kernel::gelu, [](float x, float) { return 0.5 * double(x) * std::erfc(double(x) * -std::sqrt(0.5)); });
  check(divide(kernel::fmod), [](float x, float b) { return std::fmod(double(x), double(b)); });
  check(divide(kernel::remainder), [](float x, float b) {
    const double r = std::fmod(double(x), double(b));
    return r < 0 ? r + double(b) : r;
  });
  CHECK(differ == 0);
  CHECK(wrong == 0);
}

TEST_CASE("the last elements of a block are computed as the others are, and nothing behind them is written",
          "[loops]") {
  const int64_t n = GENERATE(1, 15, 16, 17, 255, 257, 271);
  const Tensor x = make({300}, DType::float32), b = make({300}, DType::float32);
  for (int64_t i = 0; i < 300; ++i) put(x, i, 0.1 * double(i + 1)), put(b, i, 0.7);
  const auto whole = [](const Tensor& t, int64_t count) { return core::as_strided(t, {count}, {1}, 0); };
  const auto check = [&](auto op) {
    Tensor all = make({300}, DType::float32), y = make({300}, DType::float32), part = whole(y, n);
    for (int64_t i = 0; i < 300; ++i) put(y, i, -7);
    op(x, b, all);
    op(whole(x, n), whole(b, n), part);
    int wrong = 0;
    for (int64_t i = 0; i < 300; ++i) wrong += get(y, i) != (i < n ? get(all, i) : -7);
    CHECK(wrong == 0);
  };
  check([](const Tensor& a, const Tensor&, Tensor& y) { kernel::exp(a, y); });
  check([](const Tensor& a, const Tensor&, Tensor& y) { kernel::gelu(a, y); });
  check([](const Tensor& a, const Tensor& c, Tensor& y) { kernel::fmod(a, c, y); });
}

TEST_CASE("relu keeps -0 and NaN, as PyTorch does, in whole vectors too", "[loops]") {
  const DType dtype = GENERATE(DType::float32, DType::float64, DType::float16, DType::bfloat16);
  Tensor x = make({67}, dtype), y = make({67}, dtype);
  for (int64_t i = 0; i < 67; ++i) put(x, i, i % 3 ? -0.0 : std::nan(""));
  kernel::relu(x, y);
  bool kept = true;
  for (int64_t i = 0; i < 67; ++i)
    kept = kept && (i % 3 ? get(y, i) == 0 && std::signbit(get(y, i)) : std::isnan(get(y, i)));
  CHECK(kept);
}

TEST_CASE("a special value at any place of a block gives what it gives alone, and changes no other",
          "[loops][one_thread]") {
  // Blocks of 256 elements consist of vectors of 16 (elementwise.h). The sizes are whole vectors, one element more, and
  // short remainders.
  using Unary = void (*)(const Tensor&, Tensor&);
  using Binary = void (*)(const Tensor&, const Tensor&, Tensor&);
#define TANDEM_TEST_ROW(name, ...) {#name, &kernel::name},
  const std::vector<std::pair<const char*, Unary>> unary = {TANDEM_UNARY_OPS(TANDEM_TEST_ROW)
                                                                TANDEM_SPECIAL_OPS(TANDEM_TEST_ROW)};
#undef TANDEM_TEST_ROW
  const std::vector<std::pair<const char*, Binary>> binary = {
      {"pow", &kernel::pow}, {"atan2", &kernel::atan2}, {"fmod", &kernel::fmod}, {"remainder", &kernel::remainder}};
  const float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            -0.0f,
                            1e-40f,
                            -3e38f,
                            1e5f};
  const auto same = [](float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); };
  // run(x, y) computes y from x. Errors are counted, because one CHECK per position would be slow.
  const auto check = [&](const char* op, const auto& run) {
    for (const int64_t n : {16, 17, 255, 256, 257, 273}) {
      Tensor x = make({n}, DType::float32), y = make({n}, DType::float32), one = make({1}, DType::float32),
             alone = make({1}, DType::float32);
      float *const in = x.data<float>(), *const out = y.data<float>();
      std::fill(in, in + n, 0.75f);
      one.data<float>()[0] = 0.75f;
      run(one, alone);
      const float usual = alone.data<float>()[0];
      for (const float special : specials) {
        one.data<float>()[0] = special;
        run(one, alone);
        int wrong = 0;
        for (int64_t at = 0; at < n; ++at) {
          if (at == 17 && n > 200) at = 238;
          in[at] = special;
          run(x, y);
          in[at] = 0.75f;
          for (int64_t i = 0; i < n; ++i) wrong += !same(out[i], i == at ? alone.data<float>()[0] : usual);
        }
        CAPTURE(op, n, special);
        CHECK(wrong == 0);
      }
    }
  };
  for (const auto& [op, kernel] : unary) check(op, [f = kernel](const Tensor& x, Tensor& y) { f(x, y); });
  for (const auto& [op, kernel] : binary) {
    const auto other = [](const Tensor& x) {
      Tensor t = make({x.numel()}, DType::float32);
      std::fill(t.data<float>(), t.data<float>() + t.numel(), 1.5f);
      return t;
    };
    check(op, [&, f = kernel](const Tensor& x, Tensor& y) { f(x, other(x), y); });
    check(op, [&, f = kernel](const Tensor& x, Tensor& y) { f(other(x), x, y); });
  }
}

TEST_CASE("results so large that they go past the cache are those of small parts", "[loops]") {
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: 13 million elements take long under a sanitizer");
    return;
  }
  constexpr int64_t kPart = int64_t(1) << 18, n = 48 * kPart + 37;
  Tensor x = make({n}, DType::float32), b = make({n}, DType::float32), room = make({n + 1}, DType::float32);
  for (int64_t i = 0; i < n; ++i) x.data<float>()[i] = float(i % 1013 - 500) / 64, b.data<float>()[i] = float(i % 7);
  const auto check = [&](Tensor y, const Tensor& from, auto op) {
    const Tensor kept = from.clone();
    op(from, b, y);
    Tensor want = make({kPart}, DType::float32);
    int wrong = 0;
    for (int64_t i = 0; i < n; i += kPart) {
      const int64_t count = std::min(kPart, n - i);
      const auto part = [&](const Tensor& t) { return core::as_strided(t, {count}, {1}, i); };
      Tensor to = core::as_strided(want, {count}, {1}, 0);
      op(part(kept), part(b), to);
      wrong += std::memcmp(want.raw_data(), y.data<float>() + i, static_cast<size_t>(count) * sizeof(float)) != 0;
    }
    CHECK(wrong == 0);
  };
  const auto relu = [](const Tensor& a, const Tensor&, Tensor& y) { kernel::relu(a, y); };
  const auto exp = [](const Tensor& a, const Tensor&, Tensor& y) { kernel::exp(a, y); };
  const auto add = [](const Tensor& a, const Tensor& c, Tensor& y) { kernel::add(a, c, 0.5, y); };
  const auto mul = [](const Tensor& a, const Tensor& c, Tensor& y) { kernel::mul(a, c, y); };
  check(make({n}, DType::float32), x, relu);
  check(make({n}, DType::float32), x, exp);
  check(make({n}, DType::float32), x, add);
  check(core::as_strided(room, {n}, {1}, 1), x, mul);  // output not aligned to 16 elements
  check(x, x, add);
}
