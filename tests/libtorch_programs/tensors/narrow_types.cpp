// Narrow dtypes: integers that wrap, half precision that rounds and overflows, and operations that compute in a wider
// dtype.
#include <torch/torch.h>

#include <iostream>
#include <limits>
#include <vector>

int main() {
  const torch::Tensor bytes = torch::tensor({250, 3, 128, 255}, torch::kByte),
                      chars = torch::tensor({-128, 127, 5, -1}, torch::kChar);
  std::cout << bytes + 10 << "\n" << bytes - 4 << "\n" << bytes * 2 << "\n" << -bytes << "\n" << bytes + chars << "\n";
  std::cout << -chars << "\n"
            << chars.abs() << "\n"
            << chars * chars << "\n"
            << chars / 2 << "\n"
            << torch::div(chars, 2, "floor") << "\n";
  std::cout << bytes.sum() << "\n"
            << bytes.sum(0, false, torch::kByte) << "\n"
            << chars.cumsum(0) << "\n"
            << bytes.max() << "\n";
  std::cout << bytes.to(torch::kChar) << "\n"
            << chars.to(torch::kByte) << "\n"
            << torch::tensor({300, -1, 65537}).to(torch::kShort) << "\n";
  std::cout << torch::tensor({1.9, -1.9, 3.5}).to(torch::kInt) << "\n"
            << torch::tensor({0.0, 0.5, -2.0}).to(torch::kBool) << "\n";
  std::cout << (bytes & 15) << "\n"
            << (bytes | 1) << "\n"
            << ~bytes << "\n"
            << ~chars << "\n"
            << torch::bitwise_right_shift(chars, 1) << "\n"
            << torch::bitwise_left_shift(chars, 2) << "\n";
  std::cout << (bytes < 128) << "\n" << (chars % 7) << "\n" << torch::fmod(chars, 7) << "\n" << bytes.pow(2) << "\n";
  const torch::Tensor longs = torch::tensor({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()});
  std::cout << longs + 1 << "\n" << longs.to(torch::kInt) << "\n" << torch::tensor({int64_t{1} << 53}) + 1 << "\n";

  const torch::Tensor half = torch::tensor({1.0, 2049.0, 65504.0, 6e-8, 1.0 / 3}).to(torch::kHalf);
  const torch::Tensor brain = torch::tensor({1.0, 257.0, 3e38, 1e-40, 1.0 / 3}).to(torch::kBFloat16);
  std::cout << half << "\n"
            << brain << "\n"
            << half * 2 << "\n"
            << half + 1 << "\n"
            << brain + 1 << "\n"
            << brain * brain << "\n";
  std::cout << half.to(torch::kDouble) << "\n"
            << brain.to(torch::kDouble) << "\n"
            << (half + brain).scalar_type() << "\n";
  std::cout << torch::ones({4096}, torch::kHalf).sum() << "\n"
            << torch::full({4096}, 0.1, torch::kBFloat16).sum() << "\n";
  std::cout << torch::full({300}, 300, torch::kHalf).sum() << "\n"
            << torch::full({300}, 300, torch::kHalf).mean() << "\n";
  std::cout << torch::ones({8}, torch::kHalf).cumsum(0) << "\n"
            << std::get<0>(half.sort(0, /*descending=*/true)) << "\n";
  std::cout << half.exp() << "\n"
            << brain.sqrt() << "\n"
            << half.reciprocal() << "\n"
            << torch::softmax(half.narrow(0, 0, 2), 0) << "\n";
  std::cout << torch::arange(4, torch::kHalf).matmul(torch::arange(4, torch::kHalf)) << "\n"
            << torch::ones({2, 300}, torch::kBFloat16).mm(torch::ones({300, 2}, torch::kBFloat16)) << "\n";
  std::cout << (half == half.to(torch::kFloat)) << "\n"
            << half.isinf() << "\n"
            << (half * 2).isinf() << "\n"
            << half[4].item<float>() << " " << brain[4].item<double>() << "\n";
  std::cout << static_cast<float>(c10::Half(0.1f)) << " " << c10::BFloat16(0.1f) << " " << c10::Half(3) + c10::Half(4)
            << " " << (c10::Half(1) < c10::Half(2)) << "\n";
  std::cout << std::numeric_limits<c10::Half>::max() << " " << std::numeric_limits<c10::BFloat16>::epsilon() << " "
            << sizeof(c10::Half) << "\n";
  std::vector<c10::Half> list = {c10::Half(1.5f), c10::Half(-2.5f)};
  std::cout << torch::from_blob(list.data(), {2}, torch::kHalf) << "\n" << half.data_ptr<c10::Half>()[1] << "\n";
  const torch::Tensor flags = torch::tensor({true, true, false});
  std::cout << flags + flags << "\n"
            << flags * flags << "\n"
            << flags.sum() << "\n"
            << flags + 1 << "\n"
            << flags.to(torch::kFloat) << "\n"
            << flags.cumsum(0) << "\n";
  std::cout << (flags ^ true) << "\n"
            << flags.max() << "\n"
            << flags.all() << "\n"
            << ~flags << "\n"
            << flags.to(torch::kByte).prod() << "\n";
  return 0;
}
