// Factory functions, and the dtypes of their results.
#include <torch/torch.h>

#include <iostream>
#include <vector>

int main() {
  std::cout << torch::zeros({2, 3}) << "\n" << torch::ones(3, torch::kInt32) << "\n" << torch::full({2}, 7) << "\n";
  std::cout << torch::full({2}, 0.5) << "\n"
            << torch::full({1, 2}, true) << "\n"
            << torch::full({2}, 3, torch::kFloat64) << "\n";
  std::cout << torch::arange(5) << "\n" << torch::arange(1, 4) << "\n" << torch::arange(0.5, 2.5, 0.5) << "\n";
  std::cout << torch::arange(5, 0, -2) << "\n" << torch::arange(0, 3, torch::kFloat64) << "\n";
  std::cout << torch::linspace(0, 1, 5) << "\n" << torch::linspace(3, -3, 3, torch::kInt64) << "\n";
  std::cout << torch::logspace(0, 3, 4, 10, torch::kFloat64) << "\n" << torch::logspace(0, 4, 5, 2) << "\n";
  std::cout << torch::eye(3) << "\n" << torch::eye(2, 3, torch::kInt64) << "\n";
  std::cout << torch::tensor(3) << "\n" << torch::tensor(2.5) << "\n" << torch::tensor(true) << "\n";
  std::cout << torch::tensor({1, 2, 3}) << "\n"
            << torch::tensor({1.5, 2.0}) << "\n"
            << torch::tensor({true, false}) << "\n";
  std::cout << torch::tensor({{1, 2}, {3, 4}}) << "\n" << torch::tensor({{{1.0}, {2.0}}}) << "\n";
  std::cout << torch::tensor({1, 2}, torch::kFloat64) << "\n" << torch::tensor({1.7, -1.7}, torch::kInt64) << "\n";
  const std::vector<double> doubles = {0.25, 0.5};
  const std::vector<int64_t> longs = {3, 4};
  const std::vector<float> floats = {1.5f, 2.5f};
  std::cout << torch::tensor(doubles) << "\n" << torch::tensor(longs) << "\n" << torch::tensor(floats) << "\n";
  std::cout << torch::tensor(doubles, torch::dtype(torch::kFloat64)).scalar_type() << "\n";
  const torch::Tensor x = torch::ones({2, 2}, torch::kFloat64);
  std::cout << torch::zeros_like(x) << "\n"
            << torch::ones_like(x, torch::kInt32) << "\n"
            << torch::full_like(x, 4) << "\n";
  std::cout << torch::empty({2, 0}) << "\n" << torch::empty_like(x).sizes() << torch::rand({2, 5}).sizes() << "\n";
  std::cout << x.new_zeros({3}) << "\n" << x.new_ones({2}, torch::kBool) << "\n" << x.new_full({1}, 8) << "\n";
  std::cout << x.new_empty({4, 1}).sizes() << torch::empty_strided({2, 3}, {1, 2}).strides() << "\n";
  std::cout << torch::scalar_tensor(5) << "\n" << torch::scalar_tensor(5, torch::kInt64) << "\n";
  std::cout << torch::tril(torch::ones({3, 3})) << "\n" << torch::triu(torch::ones({2, 3}), 1) << "\n";
  std::cout << torch::tril_indices(3, 3) << "\n" << torch::triu_indices(3, 3, 1) << "\n";
  std::cout << torch::diag(torch::tensor({1, 2})) << "\n" << torch::diag_embed(torch::ones({2, 2}), 1).sizes() << "\n";
  std::cout << torch::vander(torch::tensor({1, 2, 3})) << "\n";
  std::cout << torch::one_hot(torch::tensor({0, 2, 1})) << "\n" << torch::one_hot(torch::tensor({1}), 4) << "\n";
  std::cout << torch::hann_window(4, torch::kFloat64) << "\n" << torch::bartlett_window(5, torch::kFloat64) << "\n";
  std::cout << torch::cartesian_prod({torch::tensor({1, 2}), torch::tensor({3, 4})}) << "\n";
  std::cout << torch::combinations(torch::tensor({1, 2, 3})) << "\n";
  torch::set_default_dtype(c10::scalarTypeToTypeMeta(torch::kFloat64));
  std::cout << torch::zeros({1}) << "\n" << torch::tensor(1.5) << "\n" << torch::arange(2.0) << "\n";
  return 0;
}
