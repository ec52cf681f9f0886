// Fits by hand-written optimizers: gradient descent under NoGradGuard, Newton's method, and differentiation through
// steps.
#include <torch/torch.h>

#include <iostream>
#include <vector>

// y = 3 x^2 - 2 x + 1, sampled on a grid
struct Curve {
  torch::Tensor x = torch::linspace(-1, 1, 21, torch::kFloat64);
  torch::Tensor y = 3 * x.square() - 2 * x + 1;
};

torch::Tensor predict(const Curve& curve, const torch::Tensor& w) {
  return torch::vander(curve.x, 3, /*increasing=*/true).matmul(w);
}

int main() {
  const Curve curve;
  torch::Tensor w = torch::zeros({3}, torch::TensorOptions(torch::kFloat64).requires_grad(true));
  for (int step = 0; step <= 200; ++step) {
    torch::Tensor loss = (predict(curve, w) - curve.y).pow(2).mean();
    loss.backward();
    if (step % 50 == 0)
      std::cout << "step " << step << " loss " << loss.item<double>() << " |g| " << w.grad().norm().item<double>()
                << std::endl;
    torch::NoGradGuard no_grad;
    w -= 0.5 * w.grad();
    w.grad().zero_();
  }
  std::cout << w << std::endl;

  // gradient descent with momentum, through .data(), with a new gradient each time
  w.data().fill_(0);
  w.mutable_grad() = torch::Tensor();
  torch::Tensor velocity = torch::zeros_like(w);
  std::cout << velocity.requires_grad() << w.requires_grad() << w.is_leaf() << std::endl;
  for (int step = 0; step < 60; ++step) {
    const auto g = torch::autograd::grad({torch::mse_loss(predict(curve, w), curve.y)}, {w})[0];
    velocity.mul_(0.9).sub_(g, 0.1);
    w.data().add_(velocity);
  }
  std::cout << w << std::endl << w.grad().defined() << std::endl;

  // Newton's method on Rosenbrock's function
  torch::Tensor p = torch::tensor({-1.2, 1.0}, torch::kFloat64).requires_grad_();
  for (int step = 0; step < 7; ++step) {
    torch::Tensor f = (1 - p[0]).pow(2) + 100 * (p[1] - p[0].pow(2)).pow(2);
    torch::Tensor g =
        torch::autograd::grad({f}, {p}, /*grad_outputs=*/{}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    std::vector<torch::Tensor> rows;
    for (int64_t i = 0; i < 2; ++i) rows.push_back(torch::autograd::grad({g[i]}, {p}, {}, true)[0]);
    std::cout << f.item<double>() << " at " << p[0].item<double>() << ", " << p[1].item<double>() << "\n";
    p = (p - torch::linalg_solve(torch::stack(rows), g)).detach().requires_grad_();
  }
  std::cout << p << "\n";

  // gradient of a loss after three steps, with respect to the learning rate and to the starting point
  torch::Tensor rate = torch::tensor(0.1, torch::requires_grad()),
                start = torch::tensor({2.0, -1.0}, torch::requires_grad());
  torch::Tensor q = start;
  for (int step = 0; step < 3; ++step)
    q = q - rate * torch::autograd::grad({q.pow(4).sum() / 4}, {q}, {}, true, true)[0];
  q.pow(2).sum().backward();
  std::cout << q << "\n" << rate.grad() << "\n" << start.grad() << "\n";
  return 0;
}
