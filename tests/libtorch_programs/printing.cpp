// Prints tensors and sizes. The output must equal LibTorch's.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <vector>

/// Returns numbers of all magnitudes up to 10^most, from a formula.
torch::Tensor numbers(torch::IntArrayRef sizes, double most, double least, int seed) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<double> values;
  uint64_t state = static_cast<uint64_t>(seed) * 2654435761u + 1;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 11) / 9007199254740992.0;
    values.push_back((state >> 7 & 1 ? -1 : 1) * std::pow(10.0, least + (most - least) * unit));
  }
  return torch::tensor(values, torch::kFloat64).reshape(sizes);
}

int main() {
  const std::vector<std::vector<int64_t>> shapes = {{},     {1},    {5},       {0},        {2, 3},      {3, 30},
                                                    {1, 1}, {2, 0}, {2, 2, 3}, {2, 2, 30}, {2, 1, 3, 2}};
  int seed = 0;
  for (const auto& sizes : shapes)
    for (const auto& [most, least] : std::vector<std::pair<double, double>>{
             {0, 0}, {1, -1}, {2, 0}, {5, 4}, {7, 6}, {-2, -3}, {3, -4}, {200, -200}, {12, 11}})
      for (const auto dtype : {torch::kFloat64, torch::kFloat32}) {
        if (dtype == torch::kFloat32 && most > 30) continue;
        const torch::Tensor x = numbers(sizes, most, least, ++seed).to(dtype);
        std::cout << x << "\n" << x.sizes() << "\n";
        std::cout << x.round() << std::endl;
      }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& values : std::vector<std::vector<double>>{{nan, inf, -inf},
                                                             {1, inf},
                                                             {0.5, nan, 3},
                                                             {0, 0},
                                                             {0, 0.25},
                                                             {-0.0, 1e-9},
                                                             {123456789, 1},
                                                             {1234567890, 1},
                                                             {99999, 0.5},
                                                             {99999.5, 1}})
    std::cout << torch::tensor(values, torch::kFloat64) << "\n" << torch::tensor(values, torch::kFloat32) << "\n";
  for (const auto dtype : {torch::kInt64, torch::kInt32, torch::kInt16, torch::kInt8, torch::kUInt8, torch::kBool,
                           torch::kFloat16, torch::kBFloat16})
    std::cout << torch::arange(-2, 4).to(torch::kFloat32).reshape({2, 3}).to(torch::kInt64).to(dtype) << "\n";
  torch::Tensor w = torch::ones({2}, torch::requires_grad());
  std::cout << w << "\n" << w * 2 << "\n" << torch::Tensor() << "\n" << torch::ones({2, 2}).t() << "\n";
  std::cout << torch::arange(6).reshape({2, 3}).t() << torch::IntArrayRef({1, 2})
            << torch::IntArrayRef(std::vector<int64_t>{}) << "\n";
}
