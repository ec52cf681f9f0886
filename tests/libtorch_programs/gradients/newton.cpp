// Newton's method, Hessian-vector products, Jacobians by rows and by columns, and implicit differentiation.
#include <torch/torch.h>

#include <iomanip>
#include <iostream>
#include <vector>

torch::Tensor rosenbrock(const torch::Tensor& x) {
  const auto head = x.slice(0, 0, -1), tail = x.slice(0, 1);
  return (100 * (tail - head.pow(2)).pow(2) + (1 - head).pow(2)).sum();
}

torch::Tensor hessian(const torch::Tensor& loss, const torch::Tensor& x) {
  const auto gradient = torch::autograd::grad({loss}, {x}, {}, true, true)[0];
  std::vector<torch::Tensor> rows;
  for (int64_t i = 0; i < x.size(0); ++i) rows.push_back(torch::autograd::grad({gradient[i]}, {x}, {}, true)[0]);
  return torch::stack(rows);
}

int main() {
  std::cout << std::fixed << std::setprecision(4);
  auto x = torch::tensor({-1.2, 1.0, 0.8}, torch::dtype(torch::kDouble).requires_grad(true));
  for (int step = 0; step < 8; ++step) {
    const auto loss = rosenbrock(x);
    const auto second = hessian(loss, x);
    const auto first = torch::autograd::grad({rosenbrock(x)}, {x})[0];
    const auto move = torch::linalg_solve(second + torch::eye(3, torch::kDouble), first);
    std::cout << step << " " << loss.item<double>() << " " << first.norm().item<double>() << std::endl;
    torch::NoGradGuard guard;
    x -= move;
  }
  std::cout << x << std::endl;

  // Hessian-vector product, by two backward passes and by the full matrix.
  const auto v = torch::tensor({1.0, -2.0, 0.5}, torch::kDouble);
  const auto gradient = torch::autograd::grad({rosenbrock(x)}, {x}, {}, true, true)[0];
  const auto product = torch::autograd::grad({gradient}, {x}, {v}, true)[0];
  std::cout << torch::allclose(product, hessian(rosenbrock(x), x).mv(v)) << std::endl;

  // A Jacobian by rows, and by columns with the double-backward trick.
  const auto w = (torch::arange(12, torch::kDouble) * 0.7).cos().view({4, 3});
  const auto a = torch::tensor({0.1, -0.4, 0.9}, torch::dtype(torch::kDouble).requires_grad(true));
  const auto y = torch::tanh(w.mv(a)) * a.sum();
  std::vector<torch::Tensor> rows, columns;
  for (int64_t i = 0; i < 4; ++i) rows.push_back(torch::autograd::grad({y[i]}, {a}, {}, true)[0]);
  const auto dummy = torch::zeros(4, torch::dtype(torch::kDouble).requires_grad(true));
  const auto pulled = torch::autograd::grad({y}, {a}, {dummy}, true, true)[0];
  for (int64_t j = 0; j < 3; ++j)
    columns.push_back(torch::autograd::grad({pulled}, {dummy}, {torch::eye(3, torch::kDouble)[j]}, true)[0]);
  std::cout << torch::stack(rows) << std::endl
            << (torch::stack(rows) - torch::stack(columns, 1)).abs().max().lt(1e-12).item<bool>() << std::endl;

  // z(p) with z^3 + z = p: the derivative is 1 / (3 z^2 + 1).
  const auto p = torch::tensor({0.5, 2.0, 10.0}, torch::dtype(torch::kDouble).requires_grad(true));
  auto z = torch::ones(3, torch::kDouble);
  for (int step = 0; step < 30; ++step) z = z - (z.pow(3) + z - p.detach()) / (3 * z.pow(2) + 1);
  z = z - (z.pow(3) + z - p) / (3 * z.pow(2) + 1).detach();  // one step that autograd records
  z.sum().backward();
  std::cout << z << std::endl << p.grad() << std::endl << (1 / (3 * z.pow(2) + 1)) << std::endl;
  return 0;
}
