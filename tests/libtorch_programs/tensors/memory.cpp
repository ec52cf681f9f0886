// Tensors over the user's own memory, and element access by accessors and pointers.
#include <torch/torch.h>

#include <iostream>
#include <vector>

int main() {
  std::vector<float> memory = {1, 2, 3, 4, 5, 6};
  torch::Tensor x = torch::from_blob(memory.data(), {2, 3});
  std::cout << x << "\n";
  x.mul_(10);
  memory[5] = -1;
  std::cout << memory[0] << " " << x[1][2].item<float>() << " " << (x.data_ptr<float>() == memory.data()) << "\n";
  std::cout << torch::from_blob(memory.data(), {3, 2}, {1, 3}) << "\n";
  std::vector<int64_t> numbers = {7, 8, 9};
  std::cout << torch::from_blob(numbers.data(), {3}, torch::kInt64) << "\n";
  bool released = false;
  {
    const torch::Tensor owner =
        torch::from_blob(memory.data(), {6}, [&](void* data) { released = data == memory.data(); });
    const torch::Tensor part = owner.slice(0, 2, 4);
    std::cout << part.sum().item<float>() << " " << released << "\n";
  }
  std::cout << released << "\n";

  torch::Tensor y = torch::arange(12, torch::kFloat64).reshape({3, 4});
  auto accessor = y.accessor<double, 2>();
  double trace = 0;
  for (int64_t i = 0; i < accessor.size(0); ++i) {
    trace += accessor[i][i];
    accessor[i][3] = 100;
  }
  std::cout << trace << " " << accessor.stride(0) << " " << accessor.stride(1) << " " << accessor.sizes() << "\n"
            << y << "\n";
  const torch::Tensor turned = y.t();
  auto of_turned = turned.accessor<double, 2>();
  std::cout << of_turned[3][0] << " " << of_turned[1][2] << " " << of_turned.stride(0) << "\n";
  auto row = accessor[1];
  for (int64_t i = 0; i < row.size(0); ++i) std::cout << row[i] << " ";
  std::cout << "\n";
  const double* begin = y.const_data_ptr<double>();
  std::cout << std::vector<double>(begin, begin + 3) << "\n";
  y.mutable_data_ptr<double>()[0] = 0.5;
  std::cout << y[0][0].item<double>() << " " << y.storage().nbytes() << " " << y.slice(0, 1).storage_offset() << "\n";
  try {
    y.data_ptr<float>();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "the elements are not float\n";
  }
  try {
    y.accessor<double, 3>();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "there are two dimensions\n";
  }
  const torch::Tensor copied = torch::from_blob(memory.data(), {6}).clone();
  memory[0] = 77;
  std::cout << copied[0].item<float>() << "\n";
  const c10::IntArrayRef sizes = y.sizes();
  std::cout << sizes.size() << " " << sizes.front() << " " << sizes.back() << " " << sizes.vec() << " "
            << sizes.slice(1) << " " << (sizes == torch::IntArrayRef({3, 4})) << "\n";
  return 0;
}
