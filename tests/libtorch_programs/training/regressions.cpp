// Regressions: a polynomial in float32 as in the tutorial, logistic, ridge by solve, Poisson, and robust losses.
#include <torch/torch.h>

#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

/// Returns the powers x, x^2, ... up to `degree`.
torch::Tensor make_features(torch::Tensor x, int64_t degree) {
  x = x.unsqueeze(1);
  std::vector<torch::Tensor> powers;
  for (int64_t i = 0; i < degree; ++i) powers.push_back(x.pow(i + 1));
  return torch::cat(powers, 1);
}

std::string poly_desc(const torch::Tensor& w, const torch::Tensor& b) {
  auto stream = std::ostringstream();
  stream << std::fixed << std::setprecision(2) << "y = ";
  for (int64_t i = 0; i < w.size(1); ++i) {
    stream << (w[0][i].item<float>() >= 0 && i > 0 ? "+" : "") << w[0][i].item<float>();
    stream << " x^" << i + 1 << ' ';
  }
  stream << (b[0].item<float>() >= 0 ? "+" : "") << b[0].item<float>();
  return stream.str();
}

void polynomial() {
  const auto w_target = torch::tensor({{1.5f, -2.0f, 0.5f}}), b_target = torch::tensor({0.75f});
  auto fc = torch::nn::Linear(w_target.size(1), 1);
  {
    torch::NoGradGuard guard;
    fc->weight.fill_(0.1);
    fc->bias.fill_(0);
  }
  torch::optim::SGD optim(fc->parameters(), torch::optim::SGDOptions(.5).momentum(.9));
  float loss = 0;
  int64_t batch_idx = 0;
  while (++batch_idx <= 1000) {
    const auto x = make_features(torch::linspace(-1.2, 1.2, 32), w_target.size(1));
    const auto y = x.mm(w_target.t()) + b_target[0].item<float>();
    optim.zero_grad();
    auto output = torch::smooth_l1_loss(fc(x), y);
    loss = output.item<float>();
    output.backward();
    optim.step();
    if (loss < 1e-9f) break;
  }
  std::cout << "loss below 1e-9: " << (loss < 1e-9f) << '\n'
            << poly_desc(fc->weight, fc->bias) << '\n'
            << poly_desc(w_target.view({1, -1}), b_target) << '\n';
}

void logistic() {
  const auto x = torch::linspace(-2, 2, 20, torch::kFloat64), z = (x * 3).sin();
  const auto features = torch::stack({x, z, torch::ones_like(x)}, 1);
  const auto y = (2 * x - 1.5 * z + 0.3 > 0).to(torch::kFloat64);
  auto w = torch::zeros({3}, torch::dtype(torch::kFloat64).requires_grad(true));
  for (int step = 0; step < 8; ++step) {  // Newton's method
    const auto loss =
        torch::binary_cross_entropy_with_logits(features.mv(w), y, {}, {}, torch::Reduction::Sum) + 0.1 * w.dot(w);
    const auto gradient = torch::autograd::grad({loss}, {w}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    std::vector<torch::Tensor> rows;
    for (int64_t i = 0; i < 3; ++i)
      rows.push_back(torch::autograd::grad({gradient[i]}, {w}, {}, /*retain_graph=*/true)[0]);
    const auto direction = torch::linalg_solve(torch::stack(rows), gradient.detach());
    torch::NoGradGuard guard;
    w -= direction;
    if (step % 2 == 0) std::printf("newton %d: %.6f\n", step, loss.item<double>());
  }
  const auto predicted = torch::sigmoid(features.mv(w)) > 0.5;
  std::cout << w << '\n' << predicted.eq(y > 0.5).sum().item<int64_t>() << " of " << y.numel() << '\n';
}

void ridge() {
  const auto x =
      torch::stack({torch::linspace(0, 1, 9, torch::kFloat64), torch::linspace(0, 4, 9, torch::kFloat64).cos()}, 1);
  const auto y = x.matmul(torch::tensor({1.0, 2.0}, torch::kFloat64)) + 0.1 * (7 * x.select(1, 0)).sin();
  for (const double lambda : {0.0, 0.5}) {
    const auto normal = x.t().mm(x) + lambda * torch::eye(2, torch::kFloat64);
    const auto w = torch::cholesky_solve(x.t().mv(y).unsqueeze(1), torch::linalg_cholesky(normal)).squeeze(1);
    std::cout << w << '\n' << (x.mv(w) - y).norm().item<double>() << '\n';
  }
}

template <class Criterion> void fit(const char* name, Criterion criterion, const torch::Tensor& y) {
  const auto x = torch::linspace(-1, 1, 12, torch::kFloat64).unsqueeze(1);
  torch::nn::Linear line(torch::nn::LinearOptions(1, 1).bias(true));
  line->to(torch::kDouble);
  for (auto& parameter : line->parameters()) torch::nn::init::constant_(parameter, 0.2);
  torch::optim::RMSprop optimizer(line->parameters(), torch::optim::RMSpropOptions(0.05).momentum(0.3));
  torch::Tensor loss;
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    loss = criterion(line(x), y);
    loss.backward();
    optimizer.step();
  }
  std::printf("%s: %.4f, %.4f x + %.4f\n", name, loss.item<double>(), line->weight.item<double>(),
              line->bias.item<double>());
}

int main() {
  polynomial();
  logistic();
  ridge();
  const auto x = torch::linspace(-1, 1, 12, torch::kFloat64).unsqueeze(1);
  auto outliers = 2 * x - 0.5;
  outliers[3] = 8;
  outliers[9].add_(5);
  fit("squared", torch::nn::MSELoss(), outliers);
  fit("absolute", torch::nn::L1Loss(torch::nn::L1LossOptions(torch::kMean)), outliers);
  fit("huber", torch::nn::HuberLoss(torch::nn::HuberLossOptions().delta(0.5)), outliers);
  fit("smooth", torch::nn::SmoothL1Loss(torch::nn::SmoothL1LossOptions().beta(0.2)), outliers);
  fit("poisson", torch::nn::PoissonNLLLoss(torch::nn::PoissonNLLLossOptions().log_input(true)), (x + 1).exp().round());
  return 0;
}
