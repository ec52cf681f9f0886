// A mixture of Gaussians, fitted by expectation maximization and by gradients, after k-means.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <limits>

/// Returns three clusters of points, which lie on spirals.
torch::Tensor points() {
  const auto i = torch::arange(30, torch::kFloat64);
  const auto radius = (i / 30).sqrt() * 0.8, angle = i * 2.399963;
  const auto cloud = torch::stack({radius * angle.cos(), 0.5 * radius * angle.sin()}, 1);
  return torch::cat({cloud, cloud * 0.7 + torch::tensor({3.0, 1.0}, torch::kFloat64),
                     cloud * 1.2 + torch::tensor({-1.0, 3.0}, torch::kFloat64)});
}

/// log N(x; mean, diag(variance)) for every point and component
torch::Tensor log_density(const torch::Tensor& x, const torch::Tensor& mean, const torch::Tensor& log_var) {
  const auto apart = (x.unsqueeze(1) - mean.unsqueeze(0)).square() / log_var.exp();
  return -0.5 * (apart + log_var + std::log(2 * M_PI)).sum(-1);
}

int main() {
  const auto x = points();
  auto centres = torch::tensor({{0.5, 1.0}, {2.0, 2.0}, {0.0, 2.0}}, torch::kFloat64);
  torch::Tensor nearest;
  for (int round = 0; round < 5; ++round) {
    nearest = torch::cdist(x, centres).argmin(1);
    for (int64_t k = 0; k < 3; ++k) centres[k] = x.index({nearest == k}).mean(0);
  }
  std::cout << centres << '\n' << nearest.bincount() << '\n';

  auto mean = torch::tensor({{0.5, 1.0}, {2.0, 2.0}, {0.0, 2.0}}, torch::kFloat64);
  auto log_var = torch::zeros({3, 2}, torch::kFloat64);
  auto weight = torch::full({3}, 1.0 / 3, torch::kFloat64);
  double last = -std::numeric_limits<double>::infinity();
  for (int round = 0; round < 100; ++round) {
    const auto joint = log_density(x, mean, log_var) + weight.log();
    const auto evidence = torch::logsumexp(joint, 1, /*keepdim=*/true);
    const auto share = (joint - evidence).exp();
    const auto count = share.sum(0);
    mean = share.t().mm(x) / count.unsqueeze(1);
    log_var = (torch::einsum("nk,nkd->kd", {share, (x.unsqueeze(1) - mean).square()}) / count.unsqueeze(1)).log();
    weight = count / x.size(0);
    const double likelihood = evidence.mean().item<double>();
    if (round % 5 == 0) std::printf("round %d: %.6f\n", round, likelihood);
    if (likelihood - last < 1e-4) {
      std::printf("done after %d rounds\n", round);
      break;
    }
    last = likelihood;
  }
  std::cout << mean << '\n' << log_var.exp() << '\n' << weight << '\n';

  const auto wanted = torch::requires_grad();
  auto means = torch::tensor({{0.5, 1.0}, {2.0, 2.0}, {0.0, 2.0}}, wanted.dtype(torch::kFloat64));
  auto spreads = torch::zeros({3, 2}, torch::dtype(torch::kFloat64).requires_grad(true));
  auto logits = torch::zeros({3}, torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true));
  torch::optim::LBFGS optimizer({means, spreads, logits},
                                torch::optim::LBFGSOptions(1).max_iter(10).line_search_fn("strong_wolfe"));
  for (int step = 0; step < 6; ++step) {
    const auto loss = optimizer.step([&] {
      optimizer.zero_grad();
      const auto loss = -torch::logsumexp(log_density(x, means, spreads) + torch::log_softmax(logits, 0), 1).mean();
      loss.backward();
      return loss;
    });
    std::printf("step %d: %.5f\n", step, -loss.item<double>());
  }
  std::cout << (means - mean).abs().max().lt(0.01).item<bool>() << '\n' << means.detach() << '\n';
  return 0;
}
