// Prints gradients of scalars and tensors, leaf properties, and accumulated gradients.
#include <torch/torch.h>

#include <iostream>

int main() {
  const torch::Tensor x = torch::linspace(-1, 2, 4, torch::kFloat64).requires_grad_();
  const torch::Tensor w = torch::tensor({{1.0, 2.0, 3.0, 4.0}, {0.5, -1.0, 0.25, 2.0}}, torch::kFloat64);
  std::cout << x.requires_grad() << x.is_leaf() << w.requires_grad() << x.grad().defined() << "\n";
  const torch::Tensor y = w.matmul(x);
  std::cout << y << "\n" << y.requires_grad() << y.is_leaf() << (y.grad_fn() != nullptr) << "\n";
  y.pow(2).sum().backward();
  std::cout << x.grad() << "\n";
  (x * x).sum().backward();  // accumulates into x.grad()
  std::cout << x.grad() << "\n";
  x.mutable_grad().zero_();
  (3 * x).backward(torch::tensor({1.0, 0.0, -1.0, 2.0}, torch::kFloat64));
  std::cout << x.grad() << "\n";
  x.mutable_grad().reset();
  std::cout << x.grad().defined() << "\n";

  // a graph can be used once, unless it is retained
  torch::Tensor loss = x.exp().sum() + x.sum();
  loss.backward({}, /*retain_graph=*/true);
  loss.backward();
  std::cout << x.grad() / 2 << "\n";
  try {
    loss.backward();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "the graph is gone\n";
  }
  try {
    y.backward();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "not a scalar\n";
  }
  try {
    w.sum().backward();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "nothing requires grad\n";
  }
  // detach, detach_, clone, and integers
  const torch::Tensor cut = (x * 2).detach();
  std::cout << cut.requires_grad() << cut.is_leaf() << x.clone().requires_grad() << "\n";
  torch::Tensor z = x * 2;
  z.detach_();
  std::cout << z.requires_grad() << z.is_leaf() << "\n";
  try {
    torch::arange(3).requires_grad_();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "integers have no gradient\n";
  }
  // gradients of broadcast tensors are summed over the broadcast dimensions
  const torch::Tensor row = torch::ones({1, 3}, torch::dtype(torch::kFloat64).requires_grad(true));
  const torch::Tensor column = torch::full({2, 1}, 2.0, torch::dtype(torch::kFloat64).requires_grad(true));
  (row * column * torch::arange(6).reshape({2, 3})).sum().backward();
  std::cout << row.grad() << "\n" << column.grad() << "\n";
  return 0;
}
