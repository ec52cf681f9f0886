// Output to std::ostream: options, indices, sizes, lists, numbers of all kinds, and tensors with stream manipulators.
#include <torch/torch.h>

#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

int main() {
  std::cout << torch::IntArrayRef({1, 2, 3}) << torch::IntArrayRef() << at::ArrayRef<double>({0.5, 2}) << std::endl;
  std::cout << std::vector<int64_t>{4, 5} << "|" << std::vector<double>{} << "|" << std::vector<std::string>{"a", "b"}
            << std::endl;
  std::cout << std::make_pair(1, "one") << " " << std::map<std::string, int>{{"x", 1}, {"y", 2}} << std::endl;
  std::cout << torch::indexing::Slice(1, 5, 2) << " " << torch::indexing::Slice() << " "
            << torch::indexing::TensorIndex(3) << " " << torch::indexing::TensorIndex("...") << " "
            << torch::indexing::TensorIndex(torch::indexing::None) << std::endl;
  std::cout << torch::kFloat << " " << torch::kStrided << " " << torch::Device("cuda:1") << " " << torch::kCPU << " "
            << torch::MemoryFormat::ChannelsLast << std::endl;
  std::cout << c10::Scalar(1.5) << " " << c10::Scalar(true) << " " << c10::Scalar(int64_t{7}) << " " << c10::Half(0.5f)
            << " " << c10::BFloat16(3.0f) << std::endl;
  std::cout << std::vector<torch::Tensor>{torch::ones({1}), torch::tensor(2)} << std::endl;
  std::cout << std::make_pair(torch::zeros({2}), 3) << std::endl;
  // the program's own manipulators stay in effect
  std::cout << std::fixed << std::setprecision(2) << 3.14159 << std::endl;
  std::cout << torch::tensor({3.14159, 100.5}) << std::endl
            << torch::tensor(3.14159) << std::endl
            << 2.71828 << std::endl;
  std::cout << std::defaultfloat << std::setprecision(6) << 2.71828 << std::endl;
  std::cout << std::setw(8) << 42 << std::endl
            << torch::tensor({7}) << std::endl
            << std::hex << 255 << std::dec << std::endl;
  std::cout << std::boolalpha << true << std::noboolalpha << true << torch::tensor({true}) << std::endl;
  // into a string, and with a limited line width
  std::ostringstream out;
  out << torch::arange(3) << torch::eye(2);
  std::cout << out.str().size() << std::endl << out.str() << std::endl;
  torch::print(std::cout, torch::arange(12, torch::kDouble).view({2, 6}) / 7, 30);
  std::cout << std::endl;
  std::cout << c10::str("x is ", torch::IntArrayRef({2}), ", ", 1.5, ", ", torch::kInt8, " and ", std::string("s"))
            << std::endl;
  try {
    TORCH_CHECK(1 + 1 == 3, "one and one are ", 2, " on ", torch::Device(torch::kCPU), " of ",
                torch::IntArrayRef({2, 2}));
  } catch (const c10::Error& error) {
    std::cout << error.what_without_backtrace() << std::endl << error.msg() << std::endl;
  }
  for (const torch::Tensor& x : {torch::zeros({0}), torch::zeros({2, 0}), torch::tensor(1e-8),
                                 torch::tensor({1e10, 1.0}), torch::full({1, 1, 1}, -7)})
    std::cout << x << std::endl;
  return 0;
}
