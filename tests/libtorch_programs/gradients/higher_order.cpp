// Higher derivatives by torch::autograd::grad.
#include <torch/torch.h>

#include <iostream>
#include <vector>

using torch::autograd::grad;

/// Returns the matrix of dy[i] / dx[j], computed row by row.
torch::Tensor jacobian(const torch::Tensor& y, const torch::Tensor& x, bool create_graph = false) {
  std::vector<torch::Tensor> rows;
  for (int64_t i = 0; i < y.size(0); ++i) rows.push_back(grad({y[i]}, {x}, {}, /*retain_graph=*/true, create_graph)[0]);
  return torch::stack(rows);
}

int main() {
  const torch::Tensor x = torch::tensor({0.5, -1.0, 2.0}, torch::dtype(torch::kFloat64).requires_grad(true));
  torch::Tensor d = (x * x * x * x).sum();
  for (int order = 1; order <= 4; ++order) {
    d = grad({d}, {x}, {}, true, /*create_graph=*/true)[0];
    std::cout << order << "\n" << d << "\n" << d.requires_grad() << "\n";
    d = d.sum();
  }
  const torch::Tensor y = torch::stack({x[0] * x[1], x[1].exp(), x.sin().sum()});
  std::cout << jacobian(y, x) << "\n";
  const torch::Tensor f = (x[0].pow(2) * x[1] + x[2].log() * x[0]);
  const torch::Tensor first = grad({f}, {x}, {}, true, true)[0];
  std::cout << first << "\n" << jacobian(first, x) << "\n";
  // vector-Jacobian product, Jacobian-vector product by two vector-Jacobian products, and Hessian-vector product
  const torch::Tensor v = torch::tensor({1.0, 2.0, -1.0}, torch::kFloat64);
  std::cout << grad({y}, {x}, {v}, true)[0] << "\n";
  const torch::Tensor u = torch::zeros({3}, torch::dtype(torch::kFloat64).requires_grad(true));
  const torch::Tensor vjp = grad({y}, {x}, {u}, true, true)[0];
  std::cout << grad({vjp}, {u}, {v}, true)[0] << "\n" << grad({first}, {x}, {v}, true)[0] << "\n";

  // gradient penalty
  const torch::Tensor w = torch::linspace(-1, 1, 6, torch::kFloat64).reshape({2, 3}).requires_grad_();
  const torch::Tensor out = torch::tanh(w.matmul(x)).sum();
  const torch::Tensor slope = grad({out}, {x}, {}, true, true)[0];
  (slope.norm(2) - 1).pow(2).backward();
  std::cout << w.grad() << "\n" << x.grad().sizes() << "\n";

  // several outputs and inputs, and an unused input
  const torch::Tensor a = torch::ones({2}, torch::requires_grad()), b = torch::full({2}, 3.0, torch::requires_grad());
  const torch::Tensor c = torch::ones({1}, torch::requires_grad());
  const auto both = grad({(a * b).sum(), (a + b).sum()}, {a, b}, {}, true);
  std::cout << both[0] << "\n" << both[1] << "\n";
  const auto some = grad({(a * b).sum()}, {a, c}, {}, true, false, /*allow_unused=*/true);
  std::cout << some[0].defined() << some[1].defined() << a.grad().defined() << "\n";
  try {
    grad({(a * b).sum()}, {a, c});
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "c is not used\n";
  }
  torch::autograd::backward({(a * 2).sum(), (b * b).sum()}, {});
  std::cout << a.grad() << "\n" << b.grad() << "\n";
  torch::autograd::backward({a * b}, {torch::tensor({1.0f, -1.0f})}, std::nullopt, false, {a});
  std::cout << a.grad() << "\n" << b.grad() << "\n";
  return 0;
}
