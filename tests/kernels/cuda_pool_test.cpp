// Tests pooling on the GPU against the CPU's, which layers_test.cpp tests.
#include <limits>

#include "tandem/kernels/pool.h"
#include "tandem/tests/kernels/cuda_tensors.h"

using namespace tandem;
using namespace tandem::test;
namespace {

struct PoolCase {
  int64_t planes, height, width;
  kernels::PoolShape shape;
  bool ceil = false;
  int64_t out(int i) const {
    const int64_t size = i == 0 ? height : width;
    const int64_t room = size + 2 * shape.padding[i] - shape.dilation[i] * (shape.kernel[i] - 1) - 1;
    return (room + (ceil ? shape.stride[i] - 1 : 0)) / shape.stride[i] + 1;
  }
};
// planes, H, W, kernel, stride, padding, dilation
const PoolCase kPools[] = {
    {3, 8, 6, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},
    {2, 9, 7, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},  // no window covers the last row and column
    {2, 10, 8, {{3, 2}, {3, 2}, {0, 0}, {1, 1}, true}},
    {2, 9, 7, {{3, 3}, {2, 2}, {1, 1}, {1, 1}, false}, true},  // windows that extend past the edge
    {3, 9, 11, {{3, 2}, {2, 1}, {1, 1}, {1, 2}, true}},        // dilation
    {2, 8, 8, {{3, 3}, {1, 1}, {1, 1}, {1, 1}, false}},        // overlapping windows
    {1, 7, 10, {{2, 3}, {3, 4}, {0, 1}, {1, 1}, true}},        // windows that skip pixels
    {1, 1, 1, {{1, 1}, {1, 1}, {0, 0}, {1, 1}, true}},
    {2, 12, 11, {{9, 8}, {2, 3}, {3, 2}, {1, 1}, false}},  // one warp per window
    {0, 8, 8, {{2, 2}, {2, 2}, {0, 0}, {1, 1}, true}},
};

/// Returns small integers with many duplicates, and a NaN in every 37th element.
Tensor values(IntArrayRef sizes, DType dtype) {
  Tensor x = randint(-3, 4, sizes).to(kFloat64);
  for (int64_t i = 5; i < x.numel(); i += 37) x.data<double>()[i] = std::numeric_limits<double>::quiet_NaN();
  return x.to(dtype);
}
void require_close(const Tensor& got, const Tensor& want) {
  // Tolerance: a few terms near 1 in another order, or hundreds of terms if a warp sums one window. For half types, a
  // unit
  // in the last place of numbers up to 4.
  const DType dtype = want.dtype();
  const double bound = dtype == kFloat16 ? 0x1p-9 : dtype == kBFloat16 ? 0x1p-6 : dtype == kFloat32 ? 2e-6 : 4e-15;
  double worst = 0;
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double error = std::abs(at(got, i) - at(want, i));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
  }
  REQUIRE(worst <= bound);
}

}  // namespace

TEST_CASE("max pooling on the GPU chooses the CPU's elements, and adds their gradients in its order", "[cuda][pool]") {
  TANDEM_NEEDS_GPU();
  manual_seed(3);
  for (const PoolCase& c : kPools)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      CAPTURE(&c - kPools, dtype);
      const Shape sizes{c.planes, c.out(0), c.out(1)};
      const Tensor x = values({c.planes, c.height, c.width}, dtype), dy = randn(sizes, dtype);
      Tensor y = empty(sizes, dtype), index = empty(sizes, kInt64), dx = empty(x.sizes(), dtype);
      kernels::cpu::max_pool2d(x, c.shape, y, index);
      kernels::cpu::max_pool2d_backward(dy, index, c.shape, dx);
      Tensor gpu_y = to_gpu(y), gpu_index = to_gpu(zeros(sizes, kInt64)), gpu_dx = to_gpu(full(x.sizes(), 99, dtype));
      kernels::cuda::max_pool2d(to_gpu(x), c.shape, gpu_y, gpu_index);
      kernels::cuda::max_pool2d_backward(to_gpu(dy), gpu_index, c.shape, gpu_dx);
      REQUIRE(same_but_nan(to_cpu(gpu_y), y));
      REQUIRE(same_bits(to_cpu(gpu_index), index));
      REQUIRE(same_bits(to_cpu(gpu_dx), dx));
    }
}

TEST_CASE("a window of max pooling that meets no pixel chooses none", "[cuda][pool]") {
  TANDEM_NEEDS_GPU();
  // Kernel 3, padding 1 and dilation 2 on a column of height 2: the window covers rows -1, 1 and 3.
  const kernels::PoolShape shape{{1, 3}, {1, 1}, {0, 1}, {1, 2}, true};
  Tensor y = core::empty({1, 2, 1}, kFloat32, kCUDA), index = core::empty({1, 2, 1}, kInt64, kCUDA),
         dx = core::empty({1, 2, 1}, kFloat32, kCUDA);
  kernels::cuda::max_pool2d(to_gpu(ones({1, 2, 1})), shape, y, index);
  kernels::cuda::max_pool2d_backward(to_gpu(ones({1, 2, 1})), index, shape, dx);
  REQUIRE(same_bits(to_cpu(y), full({1, 2, 1}, -HUGE_VAL)));
  REQUIRE(same_bits(to_cpu(index), full({1, 2, 1}, -1, kInt64)));
  REQUIRE(same_bits(to_cpu(dx), zeros({1, 2, 1})));
}

TEST_CASE("average pooling on the GPU and its gradient are the CPU's", "[cuda][pool]") {
  TANDEM_NEEDS_GPU();
  manual_seed(4);
  for (const PoolCase& c : kPools)
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      CAPTURE(&c - kPools, dtype);
      kernels::PoolShape shape = c.shape;
      shape.dilation[0] = shape.dilation[1] = 1;
      PoolCase plain = c;
      plain.shape = shape;
      const Shape sizes{c.planes, plain.out(0), plain.out(1)};
      const Tensor x = randn({c.planes, c.height, c.width}, dtype), dy = randn(sizes, dtype);
      Tensor y = empty(sizes, dtype), dx = empty(x.sizes(), dtype);
      kernels::cpu::avg_pool2d(x, shape, y);
      kernels::cpu::avg_pool2d_backward(dy, shape, dx);
      Tensor gpu_y = to_gpu(full(sizes, 99, dtype)), gpu_dx = to_gpu(full(x.sizes(), 99, dtype));
      kernels::cuda::avg_pool2d(to_gpu(x), shape, gpu_y);
      kernels::cuda::avg_pool2d_backward(to_gpu(dy), shape, gpu_dx);
      require_close(to_cpu(gpu_y), y);
      require_close(to_cpu(gpu_dx), dx);
    }
}

TEST_CASE("adaptive average pooling on the GPU and its gradient are the CPU's", "[cuda][pool]") {
  TANDEM_NEEDS_GPU();
  manual_seed(5);
  struct Sizes {
    int64_t planes, in[2], out[2];
  };
  for (const Sizes& c :
       {Sizes{3, {7, 7}, {1, 1}}, Sizes{2, {10, 7}, {4, 3}}, Sizes{2, {6, 8}, {3, 4}}, Sizes{1, {3, 2}, {5, 7}},
        Sizes{2, {31, 33}, {2, 3}}, Sizes{2, {40, 3}, {1, 1}}, Sizes{0, {4, 4}, {2, 2}}})
    for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
      CAPTURE(c.in[0], c.in[1], c.out[0], c.out[1], dtype);
      const Shape sizes{c.planes, c.out[0], c.out[1]};
      const Tensor x = randn({c.planes, c.in[0], c.in[1]}, dtype), dy = randn(sizes, dtype);
      Tensor y = empty(sizes, dtype), dx = empty(x.sizes(), dtype);
      kernels::cpu::adaptive_avg_pool2d(x, y);
      kernels::cpu::adaptive_avg_pool2d_backward(dy, dx);
      Tensor gpu_y = to_gpu(full(sizes, 99, dtype)), gpu_dx = to_gpu(full(x.sizes(), 99, dtype));
      kernels::cuda::adaptive_avg_pool2d(to_gpu(x), gpu_y);
      kernels::cuda::adaptive_avg_pool2d_backward(to_gpu(dy), gpu_dx);
      require_close(to_cpu(gpu_y), y);
      require_close(to_cpu(gpu_dx), dx);
    }
}
