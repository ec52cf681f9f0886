// Tests the implementations of the matrix product against three loops in double, and which implementation is chosen.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/kernels/cpu/gemm.h"
#include "tandem/kernels/matmul.h"
#include "tandem/kernels/philox.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using kernels::cpu::Gemm;
namespace {

template <class T> struct Product {
  Gemm g;
  std::vector<T> a, b, c, before;

  /// Makes random operands. Rows are padded by three elements.
  Product(int64_t m, int64_t n, int64_t k, bool turn_a, bool turn_b, bool accumulate)
      : g{turn_a, turn_b, accumulate, m, n, k, (turn_a ? m : k) + 3, (turn_b ? k : n) + 3, n + 3} {
    fill(a, (turn_a ? k : m) * g.lda, 1);
    fill(b, (turn_b ? n : k) * g.ldb, 2);
    fill(c, m * g.ldc, 3);
    before = c;
  }
  static void fill(std::vector<T>& to, int64_t size, uint64_t salt) {
    to.resize(static_cast<size_t>(size));
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<T>(uniform_float(philox32(salt, 0, 0, i)) * 2 - 1);
  }
  /// Returns the expected c, summed in double over k. Tests are compiled without optimization, so it converts the
  /// operands
  /// once and reads them through pointers.
  std::vector<double> sums() const {
    const std::vector<double> left(a.begin(), a.end()), right(b.begin(), b.end());
    std::vector<double> all(before.begin(), before.end());
    const int64_t step_a = g.transpose_a ? g.lda : 1, step_b = g.transpose_b ? 1 : g.ldb;
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.n; ++j) {
        const double* x = left.data() + (g.transpose_a ? i : i * g.lda);
        const double* y = right.data() + (g.transpose_b ? j * g.ldb : j);
        double sum = g.accumulate ? all[static_cast<size_t>(i * g.ldc + j)] : 0;
        for (int64_t p = 0; p < g.k; ++p, x += step_a, y += step_b) sum += *x * *y;
        all[static_cast<size_t>(i * g.ldc + j)] = sum;
      }
    return all;
  }
  int64_t wrong(const std::vector<double>& sums) const {
    // Tolerance for k products of numbers below 1, plus the old c: rounding errors grow like sqrt(k). OpenBLAS adds the
    // terms
    // of a single row one after another, which adds an error that grows like k. Half types are summed in float and
    // rounded once.
    const double terms = static_cast<double>(g.k);
    const double bound = (std::is_same_v<T, double> ? 4.5e-16 : 2.4e-7) * (std::sqrt(terms) * 3 + terms / 6 + 2);
    const double rounding = std::is_same_v<T, Half> ? 0x1p-11 : std::is_same_v<T, BFloat16> ? 0x1p-8 : 0;
    int64_t count = 0;
    for (int64_t i = 0; i < g.m; ++i)
      for (int64_t j = 0; j < g.ldc; ++j) {
        const size_t at = static_cast<size_t>(i * g.ldc + j);
        count += !(std::abs(c[at] - sums[at]) <= (j < g.n ? bound + rounding * std::abs(sums[at]) : 0));
      }
    return count;
  }
};

template <class T> void check(int64_t m, int64_t n, int64_t k) {
  for (const bool turn_a : {false, true})
    for (const bool turn_b : {false, true})
      for (const bool accumulate : {false, true}) {
        CAPTURE(m, n, k, turn_a, turn_b, accumulate, sizeof(T));
        Product<T> p(m, n, k, turn_a, turn_b, accumulate);
        const std::vector<double> sums = p.sums();
        kernels::cpu::native_gemm(p.g, p.a.data(), p.b.data(), p.c.data());
        REQUIRE(p.wrong(sums) == 0);
        if constexpr (!std::is_same_v<T, Half>)
          for (const auto& each : kernels::cpu::gemm_implementations<T>()) {
            if (!each.supports(p.g)) continue;
            CAPTURE(each.name);
            p.c = p.before;
            if (each.run(p.g, p.a.data(), p.b.data(), p.c.data())) REQUIRE(p.wrong(sums) == 0);
          }
      }
}

/// Requires that the implementation chosen for p has this name, and that it computes the product.
template <class T> void check_choice(const std::string& name, Product<T> p) {
  CAPTURE(name);
  const std::vector<double> sums = p.sums();
  for (const auto& each : kernels::cpu::gemm_implementations<T>()) {
    if (!each.supports(p.g) || !each.run(p.g, p.a.data(), p.b.data(), p.c.data())) continue;
    CHECK(each.name == name);
    break;
  }
  CHECK(p.wrong(sums) == 0);
}

}  // namespace

TEST_CASE("a matrix product is the sum that defines it, at every edge of a tile and of a block", "[gemm][one_thread]") {
  const int64_t sizes[][3] = {{1, 1, 1},      {1, 50, 3},    {7, 5, 9},    {8, 48, 16},   {9, 49, 17},
                              {13, 17, 255},  {2, 33, 256},  {3, 97, 257}, {64, 10, 128}, {129, 16, 40},
                              {130, 481, 20}, {20, 31, 400}, {513, 18, 5}};
  for (const auto& s : sizes) {
    check<float>(s[0], s[1], s[2]);
    check<double>(s[0], s[1], s[2]);
    check<Half>(s[0], s[1], s[2]);
    check<BFloat16>(s[0], s[1], s[2]);
  }
  // Few rows, which are transposed first, at the edges of blocks.
  for (const auto& s : {std::array<int64_t, 3>{16, 40, 400}, {17, 600, 30}, {481, 970, 2}})
    check<float>(s[0], s[1], s[2]);
  // Fewer rows than two tiles have, for every height of a tile.
  for (const auto& s : {std::array<int64_t, 3>{1, 701, 1003},
                        {2, 130, 2049},
                        {3, 97, 2000},
                        {4, 113, 1200},
                        {5, 200, 515},
                        {6, 96, 1000},
                        {7, 150, 513},
                        {8, 111, 600},
                        {12, 1000, 50},
                        {15, 130, 777},
                        {15, 4200, 9}})
    check<float>(s[0], s[1], s[2]);
  for (const auto& s : {std::array<int64_t, 3>{71, 130, 77}, {33, 601, 65}, {5, 30, 2049}})
    check<BFloat16>(s[0], s[1], s[2]);  // uses oneDNN if the CPU multiplies bfloat16
}

TEST_CASE("every implementation of the product on the CPU is chosen for some product", "[gemm][one_thread]") {
  Product<float> column(600, 1, 1000, false, true, false);
  column.g.ldc = 1;
  if (cpu_isa() == CpuIsa::v3 || cpu_isa() == CpuIsa::v4)
    check_choice<float>("transposed tiles", {16, 64, 256, false, true, false});
  check_choice<float>("few rows by rows", {3, 400, 500, false, true, false});
  check_choice<float>("few transposed rows by rows", {3, 400, 500, true, true, true});
  check_choice<float>("few rows in order", {3, 400, 500, false, false, false});
  check_choice<float>("rows by a column", column);
  check_choice<float>("tiles", {90, 100, 110, false, false, true});
  // OpenBLAS declines in a build without it.
  const Product<double> any(9, 8, 7, false, false, false);
  Product<double> tried = any;
  const auto list = kernels::cpu::gemm_implementations<double>();
  REQUIRE(list[0].name == std::string("OpenBLAS"));
  const std::string last = list[0].run(tried.g, tried.a.data(), tried.b.data(), tried.c.data()) ? "OpenBLAS" : "tiles";
  check_choice<double>(last, any);
  check_choice<float>(last, {9, 8, 7, false, false, false});
  if (kernels::cpu::onednn_supports_bfloat16()) check_choice<BFloat16>("oneDNN", {60, 60, 60, false, false, false});
  check_choice<BFloat16>("tiles", {9, 8, 7, false, false, false});
  CHECK(kernels::cpu::gemm_implementations<float>().size() == 8);  // all are tested above
  CHECK(kernels::cpu::gemm_implementations<BFloat16>().size() == 2);
}

TEST_CASE("a product of tensors is dot products where rows meet a column, and pieces elsewhere", "[gemm]") {
  struct Case {
    const char* chosen;
    Shape a, b;
    DType dtype;
  };
  manual_seed(5);
  for (const auto& [chosen, a_sizes, b_sizes, dtype] : {Case{"dot", {3, 1, 70}, {3, 70, 1}, kFloat32},
                                                        {"dot", {1, 1, 40'000}, {1, 40'000, 1}, kFloat64},
                                                        {"dot", {1, 9, 70}, {1, 70, 1}, kFloat16},
                                                        {"tiles", {1, 9, 70}, {1, 70, 1}, kFloat32},
                                                        {"tiles", {2, 9, 70}, {2, 70, 5}, kFloat64}}) {
    CAPTURE(chosen, a_sizes, b_sizes, dtype);
    const Tensor a = randn(a_sizes, dtype), b = randn(b_sizes, dtype), none;
    const Tensor terms = a.to(kFloat64).unsqueeze(3) * b.to(kFloat64).unsqueeze(1);  // (batch, m, k, n)
    Tensor c = empty({a_sizes[0], a_sizes[1], b_sizes[2]}, dtype);
    const kernels::MatmulCall call{a, b, none, c};
    const char* first = nullptr;
    for (const auto& each : kernels::cpu::matmul_implementations()) {
      if (!each.supports(call)) continue;
      first = first ? first : each.name;
      CAPTURE(each.name);
      c.fill_(99);
      REQUIRE(each.run(call));
      // Rounding errors grow like the square root of the number of terms.
      const double unit = dtype == kFloat64 ? 0x1p-53 : dtype == kFloat32 ? 0x1p-24 : 0x1p-11;
      CHECK(((c.to(kFloat64) - terms.sum(2)).abs() <= terms.abs().sum(2) * (4 * unit)).all().item<bool>());
    }
    CHECK(first == std::string(chosen));
  }
}

TEST_CASE("rows times a column are the sums that define them", "[gemm][one_thread]") {
  for (const auto& [m, k] : {std::pair<int64_t, int64_t>{130, 4001}, {601, 1003}, {50'001, 11}})
    for (const bool turn_b : {false, true})
      for (const bool accumulate : {false, true}) {
        CAPTURE(m, k, turn_b, accumulate);
        Product<float> p(m, 1, k, false, turn_b, accumulate);
        p.g.ldc = 1;
        if (!turn_b) p.g.ldb = 1;
        const std::vector<double> sums = p.sums();
        kernels::cpu::gemm(p.g, p.a.data(), p.b.data(), p.c.data());
        REQUIRE(p.wrong(sums) == 0);
      }
}

TEMPLATE_TEST_CASE("our own product is bit-equal however its rows and columns are cut", "[gemm]", float, Half) {
  Product<TestType> whole(100, 200, 500, false, true, false), parts = whole;
  kernels::cpu::native_gemm(whole.g, whole.a.data(), whole.b.data(), whole.c.data());
  for (const auto& [first, rows] : {std::pair<int64_t, int64_t>{0, 37}, {37, 63}})
    for (const auto& [left, columns] : {std::pair<int64_t, int64_t>{0, 150}, {150, 50}}) {
      Gemm g = parts.g;
      g.m = rows, g.n = columns;
      kernels::cpu::native_gemm(g, parts.a.data() + first * g.lda, parts.b.data() + left * g.ldb,
                                parts.c.data() + first * g.ldc + left);
    }
  REQUIRE(std::memcmp(whole.c.data(), parts.c.data(), whole.c.size() * sizeof(TestType)) == 0);
}

TEST_CASE("products and their gradients give the same bits with 1, 2 and 3 threads", "[gemm]") {
  manual_seed(11);
  const int before = get_num_threads();
  const DType dtype = GENERATE(kFloat32, kFloat16, kBFloat16);
  CAPTURE(dtype);
  const Tensor x = randn({64, 784}).to(dtype), w = randn({600, 784}).to(dtype), b = randn({600}).to(dtype),
               big = randn({300, 700}).to(dtype);
  const auto run = [&](int threads) {
    set_num_threads(threads);
    const Tensor in = x.detach().requires_grad_(), weight = w.detach().requires_grad_(),
                 bias = b.detach().requires_grad_();
    const Tensor y = linear(in, weight, bias);
    y.square().sum().backward();
    return std::vector<Tensor>{y, in.grad(), weight.grad(), bias.grad(), big.mm(big.t())};
  };
  const auto alone = run(1);
  for (const int threads : {2, 3}) {
    const auto together = run(threads);
    for (size_t i = 0; i < alone.size(); ++i)
      REQUIRE(std::memcmp(alone[i].raw_data(), together[i].raw_data(), static_cast<size_t>(alone[i].nbytes())) == 0);
  }
  set_num_threads(before);
}
