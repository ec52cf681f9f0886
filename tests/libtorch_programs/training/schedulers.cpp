// Learning-rate schedules: user-defined, reduced when the loss stays, and set by hand.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <vector>

/// lr * (1 + cos(pi t / T)) / 2
struct CosineAnnealing : torch::optim::LRScheduler {
  CosineAnnealing(torch::optim::Optimizer& optimizer, unsigned steps)
      : LRScheduler(optimizer), first(get_current_lrs()), steps(steps) {}
  std::vector<double> get_lrs() override {
    std::vector<double> lrs = first;
    for (double& lr : lrs) lr *= (1 + std::cos(M_PI * count / steps)) / 2;
    ++count;
    return lrs;
  }
  std::vector<double> first;
  unsigned steps, count = 1;
};

/// Rate that rises during warm-up and then falls with the square root of the step, as in the transformer paper.
double noam(int step, int size, int warmup) {
  return std::pow(size, -0.5) * std::min(std::pow(step, -0.5), step * std::pow(warmup, -1.5));
}

std::vector<double> rates(torch::optim::Optimizer& optimizer) {
  std::vector<double> found;
  for (const auto& group : optimizer.param_groups()) found.push_back(group.options().get_lr());
  return found;
}

int main() {
  auto x = torch::linspace(-2, 2, 8, torch::kFloat64).requires_grad_(true);
  auto y = torch::linspace(1, 3, 4, torch::kFloat64).requires_grad_(true);
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{x}, std::make_unique<torch::optim::AdamOptions>(0.2));
  groups.emplace_back(std::vector<torch::Tensor>{y}, std::make_unique<torch::optim::AdamOptions>(0.05));
  torch::optim::Adam optimizer(groups, torch::optim::AdamOptions(0.1));
  CosineAnnealing cosine(optimizer, 10);
  const auto loss_of = [&] { return (x - 0.5).square().sum() + (y * y - 2).abs().sum(); };
  for (int step = 0; step < 10; ++step) {
    optimizer.zero_grad();
    const auto loss = loss_of();
    loss.backward();
    optimizer.step();
    cosine.step();
    std::printf("step %d loss %.6f lr %.6f %.6f\n", step, loss.item<double>(), rates(optimizer)[0],
                rates(optimizer)[1]);
  }

  torch::optim::SGD sgd({x}, torch::optim::SGDOptions(0.4));
  torch::optim::ReduceLROnPlateauScheduler plateau(sgd, torch::optim::ReduceLROnPlateauScheduler::min, 0.5f,
                                                   /*patience=*/1, /*threshold=*/1e-2,
                                                   torch::optim::ReduceLROnPlateauScheduler::rel, /*cooldown=*/1,
                                                   /*min_lr=*/{0.06f});
  for (const double loss : {1.0, 0.9, 0.9, 0.895, 0.9, 0.9, 0.9, 0.5, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6}) {
    plateau.step(static_cast<float>(loss));
    std::printf("%.3f: %.4f\n", loss, rates(sgd)[0]);
  }
  torch::optim::ReduceLROnPlateauScheduler highest(sgd, torch::optim::ReduceLROnPlateauScheduler::max, 0.1f, 0);
  for (const float accuracy : {0.5f, 0.6f, 0.55f, 0.7f, 0.7f}) {
    highest.step(accuracy);
    std::printf("%.2f: %.6f\n", accuracy, rates(sgd)[0]);
  }

  torch::optim::AdamW adamw({y}, torch::optim::AdamWOptions(1));
  for (int step = 1; step <= 8; ++step) {
    for (auto& group : adamw.param_groups()) group.options().set_lr(noam(step, 16, 4));
    adamw.zero_grad();
    const auto loss = (y - 1).pow(4).sum();
    loss.backward();
    adamw.step();
    std::printf("warm %d: %.6f %.6f\n", step, rates(adamw)[0], loss.item<double>());
  }
  for (auto& group : adamw.param_groups())
    if (group.has_options()) {
      auto& options = static_cast<torch::optim::AdamWOptions&>(group.options());
      options.lr(options.lr() * 0.1);
      std::printf("%.6f\n", options.lr());
    }
  return 0;
}
