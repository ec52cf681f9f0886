// Tests random numbers on CUDA: integers, uniforms and masks equal the CPU's bits, normals equal the CPU's up to
// rounding.
#include "tandem/kernels/fill.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/cuda_rows.h"

using namespace tandem;
using namespace tandem::test;

namespace {

// Generator state (seed, stream, offset). A draw adds kOffset to the stored offset.
const Tensor kState = tensor({0x123456789abcdef0, int64_t{5}, int64_t{0x1fffffff0}}, kInt64);
constexpr uint64_t kOffset = 15;
Tensor gpu_state() { return kState.to(kGpu); }

bool bit_equal(const Tensor& got, const Tensor& want) {
  const Tensor a = got.to(kCPU);
  return std::memcmp(a.raw_data(), want.raw_data(), static_cast<size_t>(want.nbytes())) == 0;
}
/// Draws n numbers on each device and returns whether their bits are equal.
template <class Cpu, class Cuda> bool draws_bit_equal(DType dtype, int64_t n, Cpu on_cpu, Cuda on_gpu) {
  Tensor want = core::empty({n}, dtype, kCPU), got = core::empty({n}, dtype, kGpu);
  on_cpu(want);
  on_gpu(got);
  return bit_equal(got, want);
}

}  // namespace

TEST_CASE("uniforms, integers and coins on CUDA are bit-equal to the CPU's", "[cuda][random]") {
  TANDEM_NEEDS_GPU();
  for (const int64_t n : {1, 2, 3, 4, 5, 31, 1025, 4099})
    for (const DType dtype : kAllDTypes) {
      CAPTURE(n, dtype);
      if (is_floating_point(dtype))
        CHECK(draws_bit_equal(
            dtype, n, [](Tensor& y) { kernels::cpu::uniform(-0.1, 0.7, kState, kOffset, y); },
            [](Tensor& y) { kernels::cuda::uniform(-0.1, 0.7, gpu_state(), kOffset, y); }));
      CHECK(draws_bit_equal(
          dtype, n, [](Tensor& y) { kernels::cpu::bernoulli(0.3, kState, kOffset, y); },
          [](Tensor& y) { kernels::cuda::bernoulli(0.3, gpu_state(), kOffset, y); }));
      CHECK(draws_bit_equal(
          dtype, n, [](Tensor& y) { kernels::cpu::randint(0, 101, kState, kOffset, y); },
          [](Tensor& y) { kernels::cuda::randint(0, 101, gpu_state(), kOffset, y); }));
    }
  CHECK(draws_bit_equal(
      kInt64, 1001, [](Tensor& y) { kernels::cpu::randint(-7, int64_t{1} << 62, kState, kOffset, y); },
      [](Tensor& y) { kernels::cuda::randint(-7, int64_t{1} << 62, gpu_state(), kOffset, y); }));
}

TEST_CASE("normals on CUDA are the CPU's within rounding", "[cuda][random]") {
  TANDEM_NEEDS_GPU();
  const std::pair<DType, double> bounds[] = {
      {kFloat32, 2e-6}, {kFloat64, 1e-13}, {kFloat16, 2e-3}, {kBFloat16, 1.6e-2}};
  for (const auto& [dtype, bound] : bounds)
    for (const int64_t n : {1, 3, 1026}) {
      CAPTURE(dtype, n);
      Tensor want = core::empty({n}, dtype, kCPU), got = core::empty({n}, dtype, kGpu);
      kernels::cpu::normal(0.5, 2.0, kState, kOffset, want);
      kernels::cuda::normal(0.5, 2.0, gpu_state(), kOffset, got);
      CHECK(count_differences(got, want, bound, bound) == 0);
    }
}

TEST_CASE("dropout on CUDA keeps what the CPU keeps", "[cuda][random]") {
  TANDEM_NEEDS_GPU();
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
    for (const int64_t n : {1, 6, 1025}) {
      CAPTURE(dtype, n);
      const Tensor x = few_values({n}, dtype), on_gpu = x.to(kGpu);
      Tensor want = core::empty({n}, dtype, kCPU), mask = core::empty({n}, kBool, kCPU);
      Tensor got = core::empty({n}, dtype, kGpu), got_mask = core::empty({n}, kBool, kGpu);
      kernels::cpu::dropout(x, 0.75, 2.0, kState, kOffset, want, mask);
      kernels::cuda::dropout(on_gpu, 0.75, 2.0, gpu_state(), kOffset, got, got_mask);
      CHECK(bit_equal(got, want));
      CHECK(bit_equal(got_mask, mask));
    }
}

TEST_CASE("random numbers on CUDA follow the logical order of a tensor with gaps", "[cuda][random]") {
  TANDEM_NEEDS_GPU();
  Tensor plain = core::empty({9, 7}, kFloat32, kGpu),
         turned = core::transpose(core::empty({7, 9}, kFloat32, kGpu), 0, 1);
  kernels::cuda::uniform(0, 1, gpu_state(), kOffset, plain);
  kernels::cuda::uniform(0, 1, gpu_state(), kOffset, turned);
  CHECK(count_differences(turned.contiguous(), plain.to(kCPU)) == 0);
  Tensor shifted = core::as_strided(core::empty({20}, kFloat32, kGpu), {13}, {1}, 1);
  Tensor whole = core::empty({13}, kFloat32, kGpu), none = core::empty({0}, kFloat32, kGpu), integers = none.to(kInt32);
  kernels::cuda::uniform(0, 1, gpu_state(), kOffset, shifted);
  kernels::cuda::uniform(0, 1, gpu_state(), kOffset, whole);
  CHECK(count_differences(shifted.contiguous(), whole.to(kCPU)) == 0);
  CHECK_NOTHROW(kernels::cuda::normal(0, 1, gpu_state(), kOffset, none));
  CHECK_THROWS_AS(kernels::cuda::uniform(0, 1, gpu_state(), kOffset, integers), NotImplementedError);
}
