// Tests index kernels on CUDA against the CPU's, bit for bit: sums are added in the order of the index on both devices.
#include "tandem/core/cuda/cuda.h"
#include "tandem/kernels/index.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/cuda_rows.h"

using namespace tandem;
using namespace tandem::test;

namespace {

/// Returns indices below n, with many duplicates.
Tensor places(IntArrayRef sizes, int64_t n, uint32_t salt) {
  Tensor index = core::empty(sizes, kInt64, kCPU);
  for (int64_t i = 0; i < index.numel(); ++i)
    index.data<int64_t>()[i] = static_cast<int64_t>(unit(i, salt) * static_cast<double>(n)) * (i % 3 ? 1 : i % 2);
  return index;
}
struct IndexCase {
  int64_t outer, n, m, inner;
};
// Few rows and many columns, indices sorted in one tile and in several, and the smallest sizes.
const IndexCase kIndexCases[] = {{1, 1, 1, 1},  {2, 5, 3, 4},     {3, 4, 40, 1},   {1, 7, 100, 33},
                                 {2, 9, 33, 5}, {1, 50, 1500, 2}, {4, 6, 32, 130}, {1, 3, 0, 4}};
/// Returns whether to skip a case: large cases are tested for one dtype of each item size only.
bool left_out(const IndexCase& c, DType dtype) {
  return c.outer * c.m * c.inner > 500 && dtype != kFloat32 && dtype != kFloat16 && dtype != kInt64 && dtype != kUInt8;
}

}  // namespace

TEST_CASE("index_select and gather on CUDA take what the CPU's take", "[cuda][index]") {
  TANDEM_NEEDS_GPU();
  for (const IndexCase& c : kIndexCases)
    for (const DType dtype : kAllDTypes) {
      if (left_out(c, dtype)) continue;
      CAPTURE(c.outer, c.n, c.m, c.inner, dtype);
      const Tensor x = few_values({c.outer, c.n, c.inner}, dtype), index = places({c.m}, c.n, 1),
                   each = places({c.outer, c.m, c.inner}, c.n, 2);
      Tensor want = core::empty(each.sizes(), dtype, kCPU), got = core::empty(each.sizes(), dtype, kGpu);
      kernels::cpu::index_select("index_select", x, index, want);
      kernels::cuda::index_select("index_select", x.to(kGpu), index.to(kGpu), got);
      CHECK(count_differences(got, want) == 0);
      kernels::cpu::gather(x, each, want);
      kernels::cuda::gather(x.to(kGpu), each.to(kGpu), got);
      CHECK(count_differences(got, want) == 0);
    }
}

TEST_CASE("index_add, index_copy and scatter on CUDA put in the order of the index", "[cuda][index]") {
  TANDEM_NEEDS_GPU();
  for (const IndexCase& c : kIndexCases)
    for (const DType dtype : kAllDTypes) {
      if (left_out(c, dtype)) continue;
      CAPTURE(c.outer, c.n, c.m, c.inner, dtype);
      const bool real = is_floating_point(dtype);
      // Floating-point inputs whose sums depend on the order of additions.
      const Tensor x = real ? reals({c.outer, c.m, c.inner}, dtype, 7) : few_values({c.outer, c.m, c.inner}, dtype);
      const Tensor y = real ? reals({c.outer, c.n, c.inner}, dtype, 8) : few_values({c.outer, c.n, c.inner}, dtype);
      const Tensor index = places({c.m}, c.n, 1), each = places(x.sizes(), c.n, 2);
      const Tensor x_gpu = x.to(kGpu), index_gpu = index.to(kGpu), each_gpu = each.to(kGpu);
      const auto check = [&](auto on_cpu, auto on_gpu) {
        Tensor want = y.clone(), got = y.to(kGpu);
        on_cpu(want);
        on_gpu(got);
        CHECK(count_differences(got, want) == 0);
      };
      check([&](Tensor& to) { kernels::cpu::index_add(x, index, to); },
            [&](Tensor& to) { kernels::cuda::index_add(x_gpu, index_gpu, to); });
      check([&](Tensor& to) { kernels::cpu::index_copy("index_copy", x, index, to); },
            [&](Tensor& to) { kernels::cuda::index_copy("index_copy", x_gpu, index_gpu, to); });
      for (const bool add : {false, true})
        check([&](Tensor& to) { kernels::cpu::scatter("scatter", each, x, add, to); },
              [&](Tensor& to) { kernels::cuda::scatter("scatter", each_gpu, x_gpu, add, to); });
    }
}

TEST_CASE("nonzero on CUDA lists the hits in the mask's order", "[cuda][index]") {
  TANDEM_NEEDS_GPU();
  const std::vector<std::vector<int64_t>> shapes = {{}, {1}, {31}, {2049}, {3, 5}, {17, 0}, {2, 3, 700}, {4100, 1}};
  for (const auto& shape : shapes)
    for (const int64_t every : {1, 3, 1000000}) {
      CAPTURE(shape, every);
      const Tensor mask = made(shape, kBool, [=](int64_t i) { return (i * 7 + 1) % every == 0 ? 1.0 : 0.0; });
      Tensor want, got;
      kernels::cpu::nonzero(mask, want);
      kernels::cuda::nonzero(mask.to(kGpu), got);
      CHECK(count_differences(got, want) == 0);
    }
}

TEST_CASE("an index out of range on CUDA is thrown at the next synchronization, once", "[cuda][index]") {
  TANDEM_NEEDS_GPU();
  const Tensor x = few_values({1, 10, 3}, kFloat32).to(kGpu);
  for (const int64_t bad : {-1, 10, 12}) {
    Tensor index = places({40}, 10, 3);
    index.data<int64_t>()[17] = bad;
    const Tensor at = index.to(kGpu), rows = few_values({1, 40, 3}, kFloat32).to(kGpu);
    Tensor y = core::empty({1, 40, 3}, kFloat32, kGpu), into = few_values({1, 10, 3}, kFloat32).to(kGpu);
    const auto throws = [&](const std::string& op) {
      CHECK_THROWS_WITH(cuda::synchronize(kGpu),
                        Contains(op + ": index ") && Contains(" is " + std::to_string(bad) + "; accepted: 0 to 9"));
      CHECK_NOTHROW(cuda::synchronize(kGpu));
    };
    kernels::cuda::index_select("index_select", x, at, y);
    throws("index_select");
    kernels::cuda::index_add(rows, at, into);
    throws("index_add");
    kernels::cuda::index_copy("index_copy", rows, at, into);
    throws("index_copy");
    Tensor each = places({1, 40, 3}, 10, 3);
    each.data<int64_t>()[50] = bad;
    kernels::cuda::gather(x, each.to(kGpu), y);
    throws("gather");
    for (const bool add : {false, true}) {
      kernels::cuda::scatter("scatter", each.to(kGpu), rows, add, into);
      throws("scatter");
    }
  }
}

TEST_CASE("x[i, j] on CUDA finds a position that is outside its own dimension alone", "[cuda][index]") {
  TANDEM_NEEDS_GPU();
  const Tensor x = few_values({3, 4}, kFloat32).to(kGpu), i = tensor({0, 2}).to(kGpu);
  CHECK(count_differences(x.index({i, tensor({-1, 1}).to(kGpu)}), x.to(kCPU).index({i.to(kCPU), tensor({3, 1})})) == 0);
  for (const int64_t bad : {4, -5}) {
    const Tensor y = x.index({i, tensor({int64_t{0}, bad}).to(kGpu)});
    CHECK_THROWS_WITH(cuda::synchronize(kGpu), Contains("index: index 1 is "));
  }
  CHECK(count_differences(one_hot(i, 3), one_hot(i.to(kCPU), 3)) == 0);
  const Tensor y = one_hot(i, 2);
  CHECK_THROWS_WITH(cuda::synchronize(kGpu), Contains("one_hot: index 1 is 2; accepted: 0 to 1"));
}
