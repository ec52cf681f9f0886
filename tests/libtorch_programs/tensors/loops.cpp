// User-defined kernels: loops over pointers, accessors and packed accessors, for every dtype.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/util/irange.h>
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <vector>

template <typename scalar_t> void cumulative_max(const scalar_t* in, scalar_t* out, int64_t n) {
  scalar_t most = in[0];
  for (const auto i : c10::irange(n)) {
    most = in[i] > most ? in[i] : most;
    out[i] = most;
  }
}

at::Tensor running_max(const at::Tensor& input) {
  TORCH_CHECK(input.dim() == 1, "running_max: expected 1 dimension, got ", input.dim());
  at::Tensor x = input.contiguous(), out = at::empty_like(x);
  AT_DISPATCH_ALL_TYPES(x.scalar_type(), "running_max",
                        [&] { cumulative_max<scalar_t>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), x.numel()); });
  return out;
}

at::Tensor blur(const at::Tensor& image) {
  at::Tensor out = at::zeros_like(image);
  AT_DISPATCH_FLOATING_TYPES(image.scalar_type(), "blur", [&] {
    auto from = image.accessor<scalar_t, 2>();
    auto to = out.accessor<scalar_t, 2>();
    at::parallel_for(0, image.size(0), /*grain_size=*/1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < from.size(1); ++j) {
          scalar_t sum = 0;
          int count = 0;
          for (int64_t di = -1; di <= 1; ++di)
            for (int64_t dj = -1; dj <= 1; ++dj) {
              const int64_t y = i + di, x = j + dj;
              if (y < 0 || y >= from.size(0) || x < 0 || x >= from.size(1)) continue;
              sum += from[y][x];
              ++count;
            }
          to[i][j] = sum / count;
        }
    });
  });
  return out;
}

template <typename T> T total(torch::PackedTensorAccessor32<T, 3> x) {
  T sum = 0;
  for (int i = 0; i < x.size(0); ++i)
    for (int j = 0; j < x.size(1); ++j)
      for (int k = 0; k < x.size(2); ++k) sum += x[i][j][k] * (i + 1);
  return sum;
}

int main() {
  std::cout << running_max(at::tensor({3, 1, 4, 1, 5, 9, 2, 6}, at::kLong)) << "\n";
  std::cout << running_max(at::tensor({0.5, -1.0, 2.5, 2.0}, at::kDouble)) << "\n";
  std::cout << running_max(at::arange(6, at::kByte).flip(0)) << "\n";
  std::cout << blur(at::arange(12, at::kFloat).view({3, 4})) << "\n" << blur(at::eye(3, at::kDouble).t()) << "\n";
  try {
    running_max(at::ones({2, 2}));
  } catch (const c10::Error& e) {
    std::cout << e.what_without_backtrace() << "\n";
  }
  try {
    blur(at::ones({2, 2}, at::kInt));
    std::cout << "no error\n";
  } catch (const c10::Error& e) {
    std::cout << "blur is of floating-point numbers\n";
  }
  const at::Tensor cube = at::arange(24, at::kDouble).view({2, 3, 4});
  const at::Tensor turned = cube.permute({2, 0, 1});
  std::cout << total<double>(cube.packed_accessor32<double, 3>()) << " "
            << total<double>(turned.packed_accessor32<double, 3>()) << "\n";
  auto packed = cube.packed_accessor64<double, 3>();
  std::cout << packed.size(2) << " " << packed.stride(0) << " " << packed[1][2][3] << " " << packed.data()[5] << "\n";
  // strides computed by hand
  const double* data = turned.data_ptr<double>();
  double sum = 0;
  for (const auto i : c10::irange(turned.size(0)))
    for (const auto j : c10::irange(turned.size(1)))
      for (const auto k : c10::irange(int64_t{1}, turned.size(2)))
        sum += data[i * turned.stride(0) + j * turned.stride(1) + k * turned.stride(2)];
  std::cout << sum << " " << turned.narrow(2, 1, 2).sum().item<double>() << "\n";
  std::vector<double> copied(cube.data_ptr<double>(), cube.data_ptr<double>() + cube.numel());
  std::cout << copied.size() << " " << copied.back() << " " << copied[7] << "\n";
  const double reduced = at::parallel_reduce(
      0, cube.numel(), 4, 0.0,
      [&](int64_t begin, int64_t end, double start) {
        for (int64_t i = begin; i < end; ++i) start += copied[i];
        return start;
      },
      [](double a, double b) { return a + b; });
  std::cout << reduced << "\n";
  TORCH_CHECK(reduced == 276, "never");
  try {
    TORCH_CHECK(false, "a number ", 3, " and sizes ", cube.sizes());
  } catch (const std::exception& e) {
    std::cout << dynamic_cast<const c10::Error&>(e).what_without_backtrace() << "\n";
  }
  return 0;
}
