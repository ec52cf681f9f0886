// Tests reductions and running sums on CUDA against the CPU's. The numbers are chosen so that every sum is exact.
// Results must therefore be equal in any order of additions.
#include "tandem/kernels/reduce.h"

#include "tandem/tests/kernels/cuda_rows.h"

using namespace tandem;
using namespace tandem::test;

namespace {

using Reduction = void (*)(const Tensor&, Tensor&);
using Places = void (*)(const Tensor&, Tensor&, Tensor&);

/// (outer, n, inner): from one lane to several blocks per row, remainders, split rows, several outer indices per block,
/// no
/// elements, no results.
const std::vector<std::vector<int64_t>> kShapes = {
    {1, 1, 1},    {37, 3, 1},    {5, 31, 1}, {4, 33, 1},  {3, 520, 1},  {2, 1025, 1}, {2, 16500, 1},
    {1, 9001, 1}, {1, 40000, 1}, {3, 5, 7},  {2, 17, 32}, {1, 70, 130}, {1, 600, 3},  {2, 300, 1000},
    {1025, 3, 2}, {2, 0, 3},     {3, 0, 1},  {0, 4, 2},   {4, 3, 0}};

DType sum_type(DType dtype) { return is_floating_point(dtype) ? dtype : kInt64; }

int64_t compare(Reduction gpu, Reduction cpu, const Tensor& x, DType dtype) {
  Tensor want = core::empty({x.size(0), x.size(2)}, dtype, kCPU), got = core::empty(want.sizes(), dtype, kGpu);
  cpu(x, want);
  gpu(x.to(kGpu), got);
  return count_differences(got, want);
}
int64_t compare_places(Places gpu, Places cpu, const Tensor& x) {
  const std::vector<int64_t> sizes{x.size(0), x.size(2)};
  Tensor want = core::empty(sizes, x.dtype(), kCPU), at = core::empty(sizes, kInt64, kCPU);
  Tensor got = core::empty(sizes, x.dtype(), kGpu), got_at = core::empty(sizes, kInt64, kGpu);
  cpu(x, want, at);
  gpu(x.to(kGpu), got, got_at);
  return count_differences(got, want) + count_differences(got_at, at);
}

}  // namespace

TEST_CASE("reductions on CUDA give what the CPU's give, in every dtype and shape", "[cuda][reduce]") {
  TANDEM_NEEDS_GPU();
  for (const std::vector<int64_t>& sizes : kShapes)
    for (const DType dtype : kAllDTypes) {
      // Small sizes are tested in every dtype. Large sizes are tested in one dtype for each way to read and accumulate
      // elements.
      const int64_t elements = sizes[0] * sizes[1] * sizes[2];
      if (elements > 1000 && dtype != kFloat32 && dtype != kFloat16 && dtype != kInt8) continue;
      if (elements > 1000 && TANDEM_TEST_SANITIZED && dtype != kFloat16) continue;
      CAPTURE(sizes, dtype);
      const Tensor x = few_values(sizes, dtype);
      CHECK(compare(kernels::cuda::sum, kernels::cpu::sum, x, sum_type(dtype)) == 0);
      const Tensor factors = made(sizes, dtype, [&](int64_t i) {
        return i % 5 == 0 ? 1.0 : i % 3 == 0 && dtype != kBool && dtype != kUInt8 ? -1.0 : 1.0;
      });
      CHECK(compare(kernels::cuda::prod, kernels::cpu::prod, factors, sum_type(dtype)) == 0);
      const Tensor special = few_values(sizes, dtype, true);
      CHECK(compare(kernels::cuda::amax, kernels::cpu::amax, special, dtype) == 0);
      CHECK(compare(kernels::cuda::amin, kernels::cpu::amin, special, dtype) == 0);
      CHECK(compare(kernels::cuda::amax, kernels::cpu::amax, x, dtype) == 0);
      CHECK(compare(kernels::cuda::amin, kernels::cpu::amin, x, dtype) == 0);
      if (dtype == kBool) {
        CHECK(compare(kernels::cuda::any, kernels::cpu::any, x, kBool) == 0);
        CHECK(compare(kernels::cuda::all, kernels::cpu::all, x, kBool) == 0);
      }
      if (sizes[1] == 0) continue;
      CHECK(compare_places(kernels::cuda::max_with_index, kernels::cpu::max_with_index, special) == 0);
      CHECK(compare_places(kernels::cuda::min_with_index, kernels::cpu::min_with_index, special) == 0);
      CHECK(compare_places(kernels::cuda::max_with_index, kernels::cpu::max_with_index, x) == 0);
      CHECK(compare_places(kernels::cuda::min_with_index, kernels::cpu::min_with_index, x) == 0);
    }
}

TEST_CASE("reductions on CUDA read rows that start off a 16-byte boundary", "[cuda][reduce]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : {kFloat32, kFloat16, kInt8}) {
    const Tensor whole = few_values({1 + 2 * 256 * 4}, dtype), x = core::narrow(whole.to(kGpu), 0, 1, 2 * 256 * 4);
    const Tensor same = core::narrow(whole, 0, 1, 2 * 256 * 4).clone();
    for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{2, 1024, 1}, {2, 32, 32}}) {
      Tensor want = core::empty({sizes[0], sizes[2]}, sum_type(dtype), kCPU),
             got = core::empty(want.sizes(), want.dtype(), kGpu);
      kernels::cpu::sum(core::try_view(same, sizes), want);
      kernels::cuda::sum(core::try_view(x, sizes), got);
      CHECK(count_differences(got, want) == 0);
    }
  }
}

TEST_CASE("a float sum on CUDA has the same bits in every run, and is close to the sum in double", "[cuda][reduce]") {
  TANDEM_NEEDS_GPU();
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{1, 50000, 1}, {1, 2000, 5}, {3, 700, 1}}) {
    const Tensor x = reals(sizes, kFloat32, 1, 1.0, 0.5), on_gpu = x.to(kGpu);
    Tensor exact = core::empty({sizes[0], sizes[2]}, kFloat64, kCPU);
    kernels::cpu::sum(x.to(kFloat64), exact);
    std::vector<Tensor> runs;
    in_every_order([&] {
      Tensor y = core::empty(exact.sizes(), kFloat32, kGpu);
      kernels::cuda::sum(on_gpu, y);
      runs.push_back(y.to(kCPU));
    });
    CHECK(count_differences(runs[0].to(kFloat64), exact, 2e-6) == 0);  // tolerance: two chains of at most 64 additions
    for (const Tensor& run : runs) CHECK(count_differences(run, runs[0]) == 0);
  }
}

TEST_CASE("running sums on CUDA give what the CPU's give, forwards and in reverse", "[cuda][reduce]") {
  TANDEM_NEEDS_GPU();
  const std::vector<std::vector<int64_t>> shapes = {
      {1, 1, 1},     {5, 7, 1}, {3, 33, 1},  {2, 256, 1},  {2, 1100, 1}, {3, 4097, 1}, {1, 20001, 1},
      {1, 16384, 1}, {2, 5, 3}, {1, 400, 2}, {2, 131, 65}, {0, 4, 1},    {2, 0, 3}};
  for (const std::vector<int64_t>& sizes : shapes)
    for (const DType dtype : kAllDTypes) {
      if (dtype == kBool || (is_reduced_floating_point(dtype) && sizes[1] > 4097)) continue;
      // half types: alternating +1 and -1, whose sums are exact
      const bool small = dtype == kFloat16 || dtype == kBFloat16;
      const Tensor x =
          small ? made(sizes, dtype, [](int64_t i) { return i % 2 == 0 ? 1.0 : -1.0; }) : few_values(sizes, dtype);
      for (const bool reverse : {false, true}) {
        CAPTURE(sizes, dtype, reverse);
        Tensor want = core::empty(sizes, dtype, kCPU), got = core::empty(sizes, dtype, kGpu);
        kernels::cpu::cumsum(x, reverse, want);
        kernels::cuda::cumsum(x.to(kGpu), reverse, got);
        CHECK(count_differences(got, want) == 0);
      }
    }
}

TEST_CASE("half types are summed in float, and powers in double, on CUDA as on the CPU", "[cuda][reduce]") {
  TANDEM_NEEDS_GPU();
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{3, 70, 1}, {1, 50000, 1}, {2, 300, 5}, {1, 9000, 3}, {2, 0, 3}, {200, 9, 1}})
    for (const DType dtype : {kFloat16, kBFloat16}) {
      CAPTURE(sizes, dtype);
      const Tensor x = reals(sizes, dtype, 1, 300.0, 10.0), center = reals({sizes[0], sizes[2]}, kFloat32, 2);
      const Tensor wide = x.to(kFloat64);
      Tensor want = core::empty(center.sizes(), kFloat64, kCPU), got = core::empty(center.sizes(), kFloat32, kCPU);
      Tensor there = core::empty(center.sizes(), kFloat32, kGpu);
      kernels::cpu::sum(wide, want);
      kernels::cpu::sum(x, got);
      kernels::cuda::sum(x.to(kGpu), there);
      // Tolerance: 1e-6 of the sum of absolute terms. Sums are added in float, in blocks, and the terms have both
      // signs.
      const double size = 1e-6 * 310.0 * static_cast<double>(sizes[1]);
      for (const Tensor& y : {got, there}) CHECK(count_differences(y, want.to(kFloat32), 0, size) == 0);
    }
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{3, 70, 1}, {1, 50000, 1}, {2, 300, 5}, {1, 9000, 3}, {2, 0, 3}, {200, 9, 1}})
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      CAPTURE(sizes, dtype);
      const double scale = dtype == kFloat16 ? 1 : 1e30;  // their squares overflow float32
      const Tensor x = reals(sizes, dtype, 1, 300.0, 10.0) * scale, wide = x.to(kFloat64);
      const Tensor center = reals({sizes[0], sizes[2]}, kFloat64, 2) * scale;
      Tensor want = core::empty(center.sizes(), kFloat64, kCPU), got = core::empty(center.sizes(), kFloat64, kCPU);
      Tensor there = core::empty(center.sizes(), kFloat64, kGpu);
      for (const Tensor& about : {center, Tensor()}) {
        const Tensor off = about.defined() ? wide - about.unsqueeze(1) : wide;
        kernels::cpu::sum(off.square(), want);
        kernels::cpu::sum_of_squares_about(x, about, got);
        kernels::cuda::sum_of_squares_about(x.to(kGpu), about.defined() ? about.to(kGpu) : about, there);
        // Tolerance 1e-12: sums of up to 50,000 doubles in different orders.
        for (const Tensor& y : {got, there}) CHECK(count_differences(y, want, 1e-12) == 0);
      }
      const Tensor most = full_like(center, 310.0 * scale).to(is_reduced_floating_point(dtype) ? kFloat32 : dtype);
      kernels::cpu::sum((wide.abs() / most.to(kFloat64).unsqueeze(1)).pow(3), want);
      kernels::cpu::sum_of_powers(x, most, 3, got);
      kernels::cuda::sum_of_powers(x.to(kGpu), most.to(kGpu), 3, there);
      // Tolerance 1e-6: powers are computed in float.
      for (const Tensor& y : {got, there}) CHECK(count_differences(y, want, dtype == kFloat64 ? 1e-12 : 1e-6) == 0);
    }
}
