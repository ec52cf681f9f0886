// Tests sorting and selection on CUDA against the CPU's: within one tile, over several tiles, and merged.
#include "tandem/kernels/reduce.h"

#include "tandem/tests/kernels/cuda_rows.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("sort on CUDA keeps the stable order of every dtype, with NaN as the largest", "[cuda][sort]") {
  TANDEM_NEEDS_GPU();
  for (const int64_t n : {1, 2, 31, 33, 64, 1000, 1024, 1025, 2048, 5003})
    for (const DType dtype : kAllDTypes) {
      // large n tests the merging of sort entries, which does not depend on the dtype
      if (n > 64 && dtype != kFloat32 && dtype != kInt64 && dtype != kUInt8) continue;
      for (const bool descending : {false, true}) {
        CAPTURE(n, dtype, descending);
        const int64_t rows = n < 64 ? 7 : 2;
        const Tensor x = few_values({rows, n}, dtype, true);
        Tensor want = core::empty(x.sizes(), dtype, kCPU), at = core::empty(x.sizes(), kInt64, kCPU);
        Tensor got = core::empty(x.sizes(), dtype, kGpu), got_at = core::empty(x.sizes(), kInt64, kGpu);
        kernels::cpu::sort(x, descending, want, at);
        kernels::cuda::sort(x.to(kGpu), descending, got, got_at);
        CHECK(count_differences(got_at, at) == 0);
        CHECK(count_differences(got, want) == 0);
      }
    }
}

TEST_CASE("topk on CUDA gives the front of the sorted row", "[cuda][sort]") {
  TANDEM_NEEDS_GPU();
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1},    {9, 4},     {100, 100},  {1024, 3},   {1500, 500},
                                                          {5000, 1}, {5003, 64}, {3000, 700}, {2500, 2500}};
  for (const auto& [n, k] : sizes)
    for (const DType dtype : {kFloat32, kInt64})
      for (const bool largest : {false, true}) {
        CAPTURE(n, k, dtype, largest);
        const Tensor x = few_values({2, n}, dtype, true);
        Tensor want = core::empty({2, k}, dtype, kCPU), at = core::empty({2, k}, kInt64, kCPU);
        Tensor got = core::empty({2, k}, dtype, kGpu), got_at = core::empty({2, k}, kInt64, kGpu);
        kernels::cpu::topk(x, largest, want, at);
        kernels::cuda::topk(x.to(kGpu), largest, got, got_at);
        CHECK(count_differences(got_at, at) == 0);
        CHECK(count_differences(got, want) == 0);
      }
}

TEST_CASE("sort and topk of nothing on CUDA start no kernel", "[cuda][sort]") {
  TANDEM_NEEDS_GPU();
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{0, 5}, {5, 0}}) {
    const Tensor x = core::empty(sizes, kFloat32, kGpu);
    Tensor y = core::empty(sizes, kFloat32, kGpu), at = core::empty(sizes, kInt64, kGpu);
    CHECK_NOTHROW(kernels::cuda::sort(x, false, y, at));
    CHECK_NOTHROW(kernels::cuda::topk(x, true, y, at));
  }
}
