// Tensor hooks and retained gradients.
#include <torch/torch.h>

#include <iostream>
#include <vector>

int main() {
  torch::Tensor x = torch::tensor({1.0, 2.0, 3.0}, torch::requires_grad());
  const unsigned first = x.register_hook([](torch::Tensor dy) { return dy * 2; });
  x.register_hook([](torch::Tensor dy) { std::cout << "seen\n" << dy << "\n"; });
  (x * x).sum().backward();
  std::cout << x.grad() << "\n";
  x.remove_hook(first);
  x.mutable_grad().zero_();
  (x * x).sum().backward();
  std::cout << x.grad() << "\n";

  // hook on an intermediate result
  x.mutable_grad().zero_();
  torch::Tensor y = x * 3;
  y.register_hook([](torch::Tensor dy) { return dy.clamp_max(5); });
  y.retain_grad();
  std::cout << y.retains_grad() << y.is_leaf() << "\n";
  (y * y / 2).sum().backward();
  std::cout << y.grad() << "\n" << x.grad() << "\n";
  const torch::Tensor detached = torch::ones({2});
  try {
    detached.register_hook([](torch::Tensor dy) { return dy; });
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "no hook without requires_grad\n";
  }
  try {
    detached.retain_grad();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "no grad to keep\n";
  }
  // order of hooks in backward
  std::vector<int> order;
  torch::Tensor a = torch::ones({1}, torch::requires_grad()), b = a * 2, c = b * 3;
  a.register_hook([&](torch::Tensor) { order.push_back(0); });
  b.register_hook([&](torch::Tensor) { order.push_back(1); });
  c.register_hook([&](torch::Tensor) { order.push_back(2); });
  c.backward();
  for (const int i : order) std::cout << i << " ";
  std::cout << "\n";
  // a hook registered before an in-place change belongs to the old value
  torch::Tensor d = a * 2;
  d.register_hook([](torch::Tensor dy) { std::cout << "before: " << dy.item<float>() << "\n"; });
  d.mul_(5);
  d.register_hook([](torch::Tensor dy) { std::cout << "after: " << dy.item<float>() << "\n"; });
  d.sum().backward();
  // an exception thrown by a hook reaches the caller
  torch::Tensor e = a * 2;
  e.register_hook([](torch::Tensor) -> torch::Tensor { throw std::runtime_error("stop"); });
  try {
    e.sum().backward();
    std::cout << "no error\n";
  } catch (const std::exception&) {
    std::cout << "the hook threw\n";
  }
  return 0;
}
