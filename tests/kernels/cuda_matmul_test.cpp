// Tests matrix products on the GPU (Tandem's own kernels and cuBLASLt's) against sums in double.
#include <set>
#include <string>
#include <vector>

#include "tandem/kernels/matmul.h"
#include "tandem/tests/kernels/cuda_tensors.h"

using namespace tandem;
using namespace tandem::test;
namespace {

struct ProductCase {
  int64_t batch, m, n, k;
};
// Sizes for each path of the kernels: a partial tile, several tiles, a split sum over k, vectors.
const ProductCase kProducts[] = {
    {1, 1, 1, 1},     {1, 3, 5, 7},   {1, 32, 32, 8},  {1, 33, 31, 9},   {2, 17, 40, 33},
    {1, 65, 64, 16},  {3, 70, 33, 5}, {1, 5, 3, 1023}, {1, 65, 67, 300}, {2, 4, 4, 257},
    {1, 1, 1, 9001},  {4, 1, 9, 300}, {2, 9, 1, 31},   {1, 1, 300, 3},   {1, 300, 1, 2},
    {1, 600, 40, 10}, {2, 3, 4, 0},   {0, 3, 4, 5},    {1, 0, 4, 5},     {2, 1, 1, 0},
};

/// Copies (batch, rows, columns) to the GPU. If `turned`, each matrix is transposed in memory. If `repeated`, one
/// matrix is
/// expanded over the batch.
Tensor laid_out(const Tensor& x, bool turned, bool repeated) {
  const NoGradGuard guard;
  const int64_t rows = x.size(1), columns = x.size(2), batch = repeated ? 1 : x.size(0);
  Tensor dense = core::empty({batch, turned ? columns : rows, turned ? rows : columns}, x.dtype(), kCPU);
  for (int64_t i = 0; i < dense.numel(); ++i) {
    const int64_t inner = dense.size(2), r = i / inner % dense.size(1), c = i % inner;
    const int64_t from = (i / inner / dense.size(1) * rows + (turned ? c : r)) * columns + (turned ? r : c);
    visit_dtype(x.dtype(), [&]<class T>() { dense.data<T>()[i] = x.data<T>()[from]; });
  }
  const Tensor there = to_gpu(dense);
  return core::as_strided(there, x.sizes(), {repeated ? 0 : rows * columns, turned ? 1 : columns, turned ? rows : 1},
                          0);
}

/// An element of a product, and the sum of the absolute values of its terms (`size`).
struct Sum {
  double value, size;
};
Sum product_at(const Tensor& a, const Tensor& b, const ProductCase& c, int64_t i, bool a_repeats, bool b_repeats) {
  const int64_t column = i % c.n, row = i / c.n % c.m, batch = i / c.n / c.m;
  Sum sum{};
  for (int64_t k = 0; k < c.k; ++k) {
    const double product = at(a, ((a_repeats ? 0 : batch) * c.m + row) * c.k + k) *
                           at(b, ((b_repeats ? 0 : batch) * c.k + k) * c.n + column);
    sum.value += product, sum.size += std::abs(product);
  }
  return sum;
}
/// Calls f(implementation) for each of Tandem's own implementations that supports the product, in order of preference.
template <class F> void for_own(const Tensor& a, const Tensor& b, const Tensor& bias, F f) {
  Tensor y = core::empty({a.size(0), a.size(1), b.size(2)}, a.dtype(), kCUDA);
  for (const auto& each : kernels::cuda::matmul_implementations())
    if (each.name != std::string("cuBLASLt") && each.supports({a, b, bias, y})) f(each);
}

}  // namespace

TEST_CASE("products on the GPU are the sums that define them, however the operands lie", "[cuda][matmul]") {
  TANDEM_NEEDS_GPU();
  manual_seed(11);
  int number = 0;
  std::set<std::string> chosen;
  // half types come last, so that they do not change the random numbers of the others
  std::vector<std::pair<ProductCase, DType>> all;
  for (const auto& [first, second] : {std::pair(kFloat32, kFloat64), std::pair(kFloat16, kBFloat16)})
    for (const ProductCase& c : kProducts) all.insert(all.end(), {{c, first}, {c, second}});
  for (const auto& each : all) {
    const ProductCase& c = each.first;
    const DType dtype = each.second;
    const Tensor a = randn({c.batch, c.m, c.k}, dtype), b = randn({c.batch, c.k, c.n}, dtype),
                 bias = randn({c.n}, dtype);
    // Testing every layout with every size would be slow under ThreadSanitizer, so each size uses the next two layouts.
    for (int turn = 0; turn < 2; ++turn, ++number) {
      const bool a_turned = number % 2 != 0, b_turned = number / 2 % 2 != 0, biased = number % 3 == 0;
      const bool a_repeats = number % 5 == 1 && c.batch > 0, b_repeats = number % 7 == 2 && c.batch > 0;
      CAPTURE(c.batch, c.m, c.n, c.k, dtype, a_turned, b_turned, biased, a_repeats, b_repeats);
      const Tensor left = laid_out(a, a_turned, a_repeats), right = laid_out(b, b_turned, b_repeats);
      const Tensor row = biased ? to_gpu(bias) : Tensor();
      const auto check = [&](const auto& multiply) {
        Tensor y = core::empty({c.batch, c.m, c.n}, dtype, kCUDA), again = core::empty(y.sizes(), dtype, kCUDA);
        multiply(y);
        const Tensor got = to_cpu(y);
        if (!TANDEM_TEST_SANITIZED) {
          multiply(again);
          REQUIRE(same_bits(got, to_cpu(again)));
        }
        // The k roundings act on partial sums that grow like sqrt(k), so the total error is a fraction of the sum of
        // absolute
        // terms, not k times that sum. Half types round once more.
        const double unit = unit_of(dtype);
        double worst = 0;
        for (int64_t i = 0; i < got.numel(); ++i) {
          Sum want = product_at(a, b, c, i, a_repeats, b_repeats);
          if (biased) want.value += at(bias, i % c.n), want.size += std::abs(at(bias, i % c.n));
          const double error = std::abs(at(got, i) - want.value);
          worst = std::max(worst, error == 0 ? 0 : error / want.size);
        }
        REQUIRE(worst <= 5 * unit);
      };
      for_each_server([&](bool own) {
        if (!own || c.batch * c.m * c.n == 0)
          return check([&](Tensor& y) { kernels::cuda::matmul(left, right, row, y); });
        bool first = true;
        for_own(left, right, row, [&](const auto& each) {
          CAPTURE(each.name);
          if (first) chosen.insert(each.name);
          first = false;
          check([&](Tensor& y) { REQUIRE(each.run({left, right, row, y})); });
        });
      });
    }
  }
  CHECK(chosen == std::set<std::string>{"dots", "tiles"});  // each of Tandem's own kernels is preferred for some case
}

TEST_CASE("a product of many tiles takes the widest, and gives every element its place", "[cuda][matmul]") {
  TANDEM_NEEDS_GPU();
  // 128 tiles of 128 x 128; the last tile of each row and column is partial. Integers make the sums exact.
  const ProductCase c{1, 1925, 905, 2};
  const Tensor a = randint(-3, 4, {1, c.m, c.k}).to(kFloat32), b = randint(-3, 4, {1, c.k, c.n}).to(kFloat32);
  for_each_server([&](bool own) {
    Tensor y = core::empty({1, c.m, c.n}, kFloat32, kCUDA);
    const Tensor left = laid_out(a, true, false), right = laid_out(b, true, false);
    if (own)
      for_own(left, right, {}, [&](const auto& each) { REQUIRE(each.run({left, right, Tensor(), y})); });
    else
      kernels::cuda::matmul(left, right, {}, y);
    const Tensor got = to_cpu(y);
    int64_t wrong = 0;
    for (int64_t i = 0; i < got.numel(); ++i) wrong += at(got, i) != product_at(a, b, c, i, false, false).value;
    REQUIRE(wrong == 0);
  });
}

TEST_CASE("linear adds its bias to every row, wherever it lies and whoever multiplies", "[cuda][matmul]") {
  TANDEM_NEEDS_GPU();
  manual_seed(12);
  for (const ProductCase& c :
       {ProductCase{1, 5, 7, 3}, {1, 33, 64, 16}, {1, 1, 9, 300}, {1, 4, 1, 5}, {1, 1, 1, 2}, {1, 3, 4, 0}})
    for (const DType dtype : {kFloat32, kFloat64, kBFloat16}) {
      const Tensor x = randn({c.m, c.k}).to(dtype), w = randn({c.n, c.k}).to(dtype),
                   all = randn({2 * c.n + 1}).to(dtype);
      // A bias at the start of its memory, one element later, and with stride 2: libraries depend on its alignment.
      for (const Tensor& bias : {all.slice(0, 0, c.n), all.slice(0, 1, c.n + 1), all.slice(0, 1, 2 * c.n + 1, 2)}) {
        CAPTURE(c.m, c.n, c.k, dtype, bias.storage_offset(), bias.strides());
        const auto wide = [](const Tensor& t) { return t.to(kFloat64); };
        const Tensor want = matmul(wide(x), wide(w).t()) + wide(bias);
        const Tensor size = matmul(wide(x).abs(), wide(w).abs().t()) + wide(bias).abs();
        // Tolerance: like above; a bfloat16 result is rounded once to 8 bits.
        const double unit = dtype == kFloat32 ? 3e-7 : dtype == kFloat64 ? 6e-16 : 4e-3;
        const Tensor there = all.to(kCUDA).as_strided(bias.sizes(), bias.strides(), bias.storage_offset());
        for (const Tensor& y : {linear(x, w, bias), linear(x.to(kCUDA), w.to(kCUDA), there).to(kCPU)})
          CHECK(((wide(y) - want).abs() <= size * unit).all().item<bool>());
      }
    }
}

TEST_CASE("products on the GPU refuse dtypes that they do not exist for", "[cuda][matmul]") {
  TANDEM_NEEDS_GPU();
  const Tensor a = core::empty({1, 2, 2}, kInt64, kCUDA);
  Tensor y = core::empty({1, 2, 2}, kInt64, kCUDA);
  REQUIRE_THROWS_WITH(kernels::cuda::matmul(a, a, {}, y), Contains("matmul") && Contains("int64"));
}
