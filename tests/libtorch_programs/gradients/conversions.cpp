// Prints gradients through dtype conversions and type promotion, through copies, and with gradients set by hand.
#include <torch/torch.h>

#include <iostream>

template <class F> bool refused(F&& f) {
  try {
    f();
  } catch (const c10::Error&) {
    return true;
  }
  return false;
}

int main() {
  at::Tensor x = at::tensor({1.0f, 2.0f, 3.0f}).requires_grad_(true);
  at::Tensor w = at::tensor({0.5, -1.0, 2.0}, at::kDouble).requires_grad_(true);
  at::Tensor y = x * w;  // float64
  y.sum().backward();
  std::cout << y.scalar_type() << "\n" << x.grad() << "\n" << w.grad() << "\n";
  x.mutable_grad().reset();
  x.to(at::kHalf).mul(2).to(at::kDouble).pow(2).sum().backward();
  std::cout << x.grad() << "\n";
  x.mutable_grad().reset();
  (x.to(at::kBFloat16) * at::tensor({1, 2, 3})).sum().backward();
  std::cout << x.grad() << "\n";
  // integers and comparisons cut the graph
  std::cout << x.to(at::kLong).requires_grad() << (x > 1).requires_grad() << x.argmax().requires_grad()
            << x.round().requires_grad() << at::ones_like(x).requires_grad() << x.new_zeros({1}).requires_grad()
            << x.sum(at::kDouble).requires_grad() << "\n";
  // copy_ from another dtype
  at::Tensor into = at::zeros({3}, at::kDouble);
  into.copy_(x);
  (into * w.detach()).sum().backward();
  std::cout << x.grad() << "\n" << into.requires_grad() << "\n";
  at::Tensor rows = at::zeros({2, 3});
  rows[1] = x;
  rows.index_put_({0, 2}, x[0]);
  x.mutable_grad().reset();
  rows.pow(2).sum().backward();
  std::cout << rows << "\n" << x.grad() << "\n";

  // a gradient set by hand, with another shape and dtype
  x.mutable_grad() = at::full({3}, 7.0f);
  x.sum().backward();
  std::cout << x.grad() << "\n";
  std::cout << refused([&] {
    x.mutable_grad() = at::ones({2});
    x.sum().backward();
  }) << "\n";
  x.mutable_grad() = at::Tensor();
  // the accumulated gradient is not the tensor that was passed to backward
  at::Tensor dy = at::ones({3});
  at::Tensor z = x + 0;
  z.backward(dy);
  dy.fill_(9);
  std::cout << x.grad() << "\n";
  std::cout << refused([&] { (x * 2).backward(at::ones({2})); }) << refused([&] { (x * 2).backward(); })
            << refused([&] { x.detach().sum().backward(); }) << "\n";
  // with create_graph, gradients have a history
  x.mutable_grad().reset();
  x.pow(3).sum().backward({}, /*retain_graph=*/true, /*create_graph=*/true);
  std::cout << x.grad() << "\n" << x.grad().requires_grad() << "\n";
  at::Tensor first = x.grad();
  x.mutable_grad() = at::Tensor();
  first.sum().backward();
  std::cout << x.grad() << "\n";
  // data, variable_data, set_data
  at::Tensor leaf = torch::ones({2}).requires_grad_();
  at::Tensor shared = leaf.data();
  shared.mul_(5);
  std::cout << leaf << "\n"
            << shared.requires_grad() << leaf._version() << leaf.variable_data().is_alias_of(leaf) << "\n";
  leaf.set_data(at::tensor({3.0f, 4.0f}));
  leaf.prod().backward();
  std::cout << leaf.grad() << "\n" << leaf.requires_grad() << leaf.is_leaf() << "\n";
  // requires_grad of a tensor that was used before
  at::Tensor late = at::ones({2}), before = late * 2;
  late.requires_grad_();
  std::cout << before.requires_grad() << (late * 2).requires_grad() << late.requires_grad_(false).requires_grad()
            << "\n";
  std::cout << at::zeros({0, 3}).requires_grad_().sum().requires_grad() << "\n";
  return 0;
}
