// Type promotion of tensors with dimensions, tensors without dimensions, and numbers.
#include <torch/torch.h>

#include <iostream>
#include <vector>

int main() {
  const std::vector<torch::ScalarType> dtypes = {torch::kBool,    torch::kUInt8,  torch::kInt8,    torch::kInt16,
                                                 torch::kInt32,   torch::kInt64,  torch::kFloat16, torch::kBFloat16,
                                                 torch::kFloat32, torch::kFloat64};
  for (const auto a : dtypes) {
    std::cout << a << ":";
    for (const auto b : dtypes)
      std::cout << " " << (torch::ones({1}, a) + torch::ones({1}, b)).scalar_type() << "/"
                << (torch::ones({1}, a) * torch::ones({}, b)).scalar_type() << "/"
                << torch::result_type(torch::ones({}, a), torch::ones({}, b)) << "/" << torch::promote_types(a, b)
                << "/" << torch::can_cast(a, b);
    std::cout << "\n";
  }
  for (const auto a : dtypes) {
    const torch::Tensor x = torch::ones({2}, a);
    std::cout << a << ": " << (x + 1).scalar_type() << " " << (x * 1.5).scalar_type() << " " << (x + true).scalar_type()
              << " " << (x / 2).scalar_type() << " " << x.sum().scalar_type() << " " << x.prod().scalar_type() << " "
              << x.cumsum(0).scalar_type() << " " << (x == 1).scalar_type() << " " << x.max().scalar_type() << " "
              << torch::sin(x).scalar_type() << " " << (2 - x.to(torch::kInt32)).scalar_type() << "\n";
  }
  const torch::Tensor i = torch::tensor({7, -7, 3}), f = torch::tensor({0.5, -2.0, 1.5}, torch::kFloat64);
  std::cout << i + f << "\n"
            << i / 2 << "\n"
            << i / torch::tensor({2, 2, 2}) << "\n"
            << i % 4 << "\n"
            << torch::fmod(i, 4) << "\n";
  std::cout << torch::div(i, 2, "floor") << "\n"
            << torch::div(i, 2, "trunc") << "\n"
            << torch::floor_divide(i, 2) << "\n";
  std::cout << torch::remainder(f, 1.5) << "\n"
            << torch::pow(i, 2) << "\n"
            << torch::pow(2, i.abs()) << "\n"
            << i.pow(0.5).isnan() << "\n";
  std::cout << -i << "\n"
            << ~i << "\n"
            << (i & 3) << "\n"
            << (i | 8) << "\n"
            << (i ^ i) << "\n"
            << torch::bitwise_left_shift(i, 1) << "\n";
  std::cout << torch::logical_not(i - 3) << "\n"
            << (i > 0) << "\n"
            << (i >= f) << "\n"
            << (3 == i) << "\n"
            << (2.0 / f) << "\n";
  std::cout << torch::logical_and(i, f > 0) << "\n"
            << torch::logical_xor(i, i) << "\n"
            << torch::sqrt(i.abs()).scalar_type() << "\n";
  torch::Tensor y = torch::arange(3);
  y += 2;
  y *= torch::tensor({1, 2, 3});
  y -= torch::ones({1}, torch::kInt32);
  std::cout << y << "\n";
  try {
    y += 0.5;
    std::cout << y << "\n";
  } catch (const c10::Error&) {
    std::cout << "a float does not go into an integer\n";
  }
  try {
    std::cout << -torch::tensor({true}) << "\n";
  } catch (const c10::Error&) {
    std::cout << "no minus of bool\n";
  }
  std::cout << torch::add(i, f, 2) << "\n" << torch::sub(i, 1, 3) << "\n" << torch::rsub(i, 10) << "\n";
  std::cout << torch::addcmul(f, f, f, 2) << "\n"
            << torch::addcdiv(f, f, f, 0.5) << "\n"
            << torch::lerp(f, 2 * f, 0.25) << "\n";
  std::cout << torch::maximum(i, f) << "\n"
            << torch::clamp(i, -1, 5) << "\n"
            << torch::clamp_min(f, 0) << "\n"
            << f.clamp(-1, 1) << "\n";
  return 0;
}
