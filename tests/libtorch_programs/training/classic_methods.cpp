// Methods without a network: k-means, principal components, nearest-neighbour vote, logistic regression by weighted
// least squares, and a Kalman filter. All data come from formulas.
#include <torch/torch.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <tuple>

torch::Tensor clusters() {
  const auto angle = torch::arange(60, torch::kDouble) * 2.4;
  const auto radius = (torch::arange(60, torch::kDouble) * 0.37).sin().abs() + 0.2;
  const auto points = torch::stack({radius * angle.cos(), radius * angle.sin()}, 1);
  const auto centres = torch::tensor({{0.0, 0.0}, {5.0, 1.0}, {1.0, 6.0}}, torch::kDouble);
  return points + centres.index_select(0, torch::arange(60) % 3);
}

int main() {
  std::cout << std::fixed << std::setprecision(4);
  const auto x = clusters();
  auto centres = x.slice(0, 0, 3).clone();
  for (int step = 0; step < 6; ++step) {
    const auto nearest = torch::cdist(x, centres).argmin(1);
    const auto counts = torch::bincount(nearest, {}, 3);
    const auto sums = torch::zeros({3, 2}, torch::kDouble).index_add_(0, nearest, x);
    const auto moved = sums / counts.clamp_min(1).unsqueeze(1);
    const double change = (moved - centres).norm().item<double>();
    centres = moved;
    std::cout << step << " " << counts << " " << change << std::endl;
    if (change < 1e-9) break;
  }
  std::cout << centres << std::endl;

  const auto centred = x - x.mean(0, true);
  const auto covariance = centred.t().mm(centred) / (x.size(0) - 1);
  auto [values, vectors] = torch::linalg_eigh(covariance);
  std::cout << values << vectors.abs() << torch::allclose(covariance, torch::cov(x.t())) << std::endl;
  const auto singular = torch::linalg_svdvals(centred);
  std::cout << torch::allclose(singular.square().flip(0) / (x.size(0) - 1), values) << std::endl;

  const auto labels = torch::arange(60) % 3;
  auto distances = torch::cdist(x, x);
  distances.fill_diagonal_(1e9);
  const auto [near, index] = distances.topk(5, 1, /*largest=*/false);
  const auto votes = torch::one_hot(labels.index({index}), 3).sum(1);
  std::cout << near.mean().item<double>() << " " << votes.argmax(1).eq(labels).to(torch::kDouble).mean().item<double>()
            << std::endl;

  const auto inputs = torch::cat({x.slice(0, 0, 40), torch::ones({40, 1}, torch::kDouble)}, 1);
  const auto target =
      (x.slice(0, 0, 40).select(1, 0) + 0.4 * (torch::arange(40, torch::kDouble) * 5).sin() > 1.2).to(torch::kDouble);
  auto beta = torch::zeros(3, torch::kDouble);
  for (int step = 0; step < 5; ++step) {
    const auto p = torch::sigmoid(inputs.mv(beta));
    const auto weight = (p * (1 - p)).clamp_min(1e-6);
    const auto normal = inputs.t().mm(weight.unsqueeze(1) * inputs) + 0.1 * torch::eye(3, torch::kDouble);
    beta = beta + torch::linalg_solve(normal, inputs.t().mv(target - p) - 0.1 * beta);
    std::cout << torch::binary_cross_entropy(torch::sigmoid(inputs.mv(beta)), target).item<double>() << " ";
  }
  std::cout << std::endl << beta << std::endl;

  const auto motion = torch::tensor({{1.0, 0.5}, {0.0, 1.0}}, torch::kDouble);
  const auto seen = torch::tensor({{1.0, 0.0}}, torch::kDouble);
  auto state = torch::zeros({2, 1}, torch::kDouble), spread = torch::eye(2, torch::kDouble) * 10;
  for (int t = 0; t < 20; ++t) {
    const double measured = 0.5 * t + 0.3 * std::sin(3.0 * t);
    state = motion.mm(state);
    spread = motion.mm(spread).mm(motion.t()) + 0.01 * torch::eye(2, torch::kDouble);
    const auto gain = spread.mm(seen.t()).div(seen.mm(spread).mm(seen.t()) + 0.09);
    state = state + gain * (measured - seen.mm(state));
    spread = (torch::eye(2, torch::kDouble) - gain.mm(seen)).mm(spread);
    if (t % 5 == 4) std::cout << t << " " << state.flatten() << " " << spread.trace().item<double>() << std::endl;
  }
  return 0;
}
