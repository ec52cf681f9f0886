// Tests sorting, selection and indices of a mask against plain code, at sizes for which the kernels use a radix sort,
// select by a threshold, or split a mask into blocks. Also tests rows that are added and copied by index, at sizes for
// which threads share them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tandem/ops/elementwise/compare.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/index/nonzero.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

/// Returns numbers with many duplicates; if `specials`, also NaN, infinities and both zeros.
Tensor many(IntArrayRef sizes, DType dtype, bool specials) {
  Tensor x = core::empty(sizes, kFloat64, kCPU);
  const double special[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};
  for (int64_t i = 0; i < x.numel(); ++i) {
    const auto k = static_cast<uint64_t>(i) * 2654435761 % 1000003;
    x.data<double>()[i] = specials && k % 7 == 0 ? special[k % 5] : static_cast<double>(k % 241) - 120;
  }
  return x.to(dtype);
}
bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }
/// Returns the stable argsort of a row.
std::vector<int64_t> order(const double* x, int64_t n, bool descending) {
  std::vector<int64_t> at(static_cast<size_t>(n));
  std::iota(at.begin(), at.end(), 0);
  std::stable_sort(at.begin(), at.end(),
                   [&](int64_t i, int64_t j) { return descending ? before(x[j], x[i]) : before(x[i], x[j]); });
  return at;
}
int64_t differences(const Tensor& index, const Tensor& x, bool descending) {
  const Tensor wide = x.to(kFloat64);
  const int64_t n = x.size(1), k = index.size(1);
  int64_t count = 0;
  for (int64_t r = 0; r < x.size(0); ++r) {
    const std::vector<int64_t> want = order(wide.data<double>() + r * n, n, descending);
    for (int64_t i = 0; i < k; ++i) count += index.data<int64_t>()[r * k + i] != want[static_cast<size_t>(i)];
  }
  return count;
}

}  // namespace

TEST_CASE("sort and topk keep the stable order of every dtype, with NaN as the largest", "[select]") {
  const DType dtype = GENERATE(kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8);
  const bool descending = GENERATE(false, true);
  const int64_t n = GENERATE(1, 5, 47, 48, 1000);
  const Tensor x = many({3, n}, dtype, is_floating_point(dtype));
  CAPTURE(dtype, descending, n);
  const auto [sorted, index] = x.sort(-1, descending);
  CHECK(differences(index, x, descending) == 0);
  CHECK(sorted.allclose(x.gather(1, index), 0, 0, /*equal_nan=*/true));
  for (const int64_t k : {int64_t(1), n / 20 + 1, n / 2 + 1, n}) {
    const auto [values, places] = x.topk(std::min(k, n), -1, descending);
    CHECK(differences(places, x, descending) == 0);
    CHECK(values.allclose(x.gather(1, places), 0, 0, /*equal_nan=*/true));
  }
}

TEST_CASE("nonzero gives every position of a large mask in order", "[select]") {
  const Shape sizes = GENERATE(Shape{50001}, Shape{3, 7, 2001}, Shape{20000, 2}, Shape{1, 9000, 1});
  const Tensor mask = many(sizes, kFloat32, false) > 60;
  const Tensor places = nonzero(mask);
  std::vector<int64_t> want;
  for (int64_t i = 0; i < mask.numel(); ++i) {
    if (!mask.data<bool>()[i]) continue;
    int64_t step = mask.numel();
    for (const int64_t size : sizes) step /= size, want.push_back(i / step % size);
  }
  REQUIRE(places.numel() == static_cast<int64_t>(want.size()));
  CHECK(std::equal(want.begin(), want.end(), places.data<int64_t>()));
}

TEST_CASE("rows that meet are added and copied in the index's order, however they are cut", "[select]") {
  const int64_t inner = GENERATE(7, 96, 300), outer = GENERATE(1, 2), n = 43, m = 1501;
  CAPTURE(inner, outer);
  Tensor index = core::empty({m}, kInt64, kCPU), x = core::empty({outer, m, inner}, kFloat32, kCPU);
  // index 11 occurs 500 times in a row
  for (int64_t i = 0; i < m; ++i) index.data<int64_t>()[i] = i < 500 ? 11 : i * i % n;
  for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = 1.0f / static_cast<float>(i % 1999 + 3);
  const Tensor y = zeros({outer, n, inner});
  Tensor added = y.clone(), copied = y.clone();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t c = 0; c < inner; ++c) {
        const int64_t to = (o * n + index.data<int64_t>()[i]) * inner + c;
        added.data<float>()[to] += x.data<float>()[(o * m + i) * inner + c];
        copied.data<float>()[to] = x.data<float>()[(o * m + i) * inner + c];
      }
  CHECK(y.index_add(1, index, x).equal(added));
  CHECK(y.index_copy(1, index, x).equal(copied));
}

TEST_CASE("extrema of rows and columns and their places are those of one pass, NaN first", "[select]") {
  const DType dtype = GENERATE(DType::float32, DType::float64, DType::float16, DType::int32);
  for (const bool specials : {false, true}) {
    if (specials && dtype == DType::int32) continue;
    for (const int64_t n : {1, 2, 15, 16, 63, 64, 65, 130, 1000}) {
      CAPTURE(dtype, specials, n);
      const Tensor x = many({7, n}, dtype, specials && n != 16), plain = x.to(kFloat64);
      for (const bool largest : {true, false}) {
        const auto along = [&](const Tensor& t, int64_t dim) { return largest ? t.max(dim) : t.min(dim); };
        const auto [value, place] = along(x, 1);
        const auto [column_value, column_place] = along(x.t().contiguous(), 0);
        for (int64_t row = 0; row < 7; ++row) {
          const double* const from = plain.data<double>() + row * n;
          int64_t wanted = 0;
          for (int64_t i = 1; i < n && !std::isnan(from[wanted]); ++i)
            if (std::isnan(from[i]) || (largest ? from[i] > from[wanted] : from[i] < from[wanted])) wanted = i;
          CHECK(place[row].item<int64_t>() == wanted);
          CHECK(column_place[row].item<int64_t>() == wanted);
          const double got = value[row].to(kFloat64).item<double>();
          CHECK((std::isnan(from[wanted]) ? std::isnan(got)
                                          : got == from[wanted] && std::signbit(got) == std::signbit(from[wanted])));
        }
      }
    }
  }
}
