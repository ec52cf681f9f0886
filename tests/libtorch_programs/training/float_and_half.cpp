// Mixed precision: bfloat16 weights with float32 master weights, loss scaling, and float64.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <vector>

/// Updates float32 master weights, and rounds them to the module's weights.
class MasterWeights {
 public:
  explicit MasterWeights(std::vector<torch::Tensor> weights) : weights_(std::move(weights)) {
    for (const auto& weight : weights_)
      masters_.push_back(weight.detach().to(torch::kFloat32).clone().requires_grad_(true));
  }
  std::vector<torch::Tensor>& masters() { return masters_; }
  bool take_gradients(double scale) {
    bool finite = true;
    for (size_t i = 0; i < weights_.size(); ++i) {
      masters_[i].mutable_grad() = weights_[i].grad().to(torch::kFloat32) / scale;
      finite = finite && torch::isfinite(masters_[i].grad()).all().item<bool>();
    }
    return finite;
  }
  void round() {
    torch::NoGradGuard guard;
    for (size_t i = 0; i < weights_.size(); ++i) weights_[i].copy_(masters_[i]);
  }

 private:
  std::vector<torch::Tensor> weights_, masters_;
};

void fill(torch::nn::Module& module) {
  torch::NoGradGuard guard;
  double step = 0.4;
  for (auto& parameter : module.parameters())
    parameter.copy_((torch::arange(parameter.numel(), torch::kFloat64) * (step += 0.2)).sin().view_as(parameter) * 0.5);
}

int main() {
  const auto x = torch::linspace(-1, 1, 16).unsqueeze(1), y = (x * 2).sin();
  torch::nn::Sequential net(torch::nn::Linear(1, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1));
  fill(*net);
  net->to(torch::kBFloat16);
  MasterWeights masters(net->parameters());
  torch::optim::SGD optimizer(masters.masters(), torch::optim::SGDOptions(0.2));
  double scale = 1024;
  int skipped = 0;
  for (int step = 0; step < 20; ++step) {
    net->zero_grad();
    const auto output = net->forward(x.to(torch::kBFloat16));
    auto loss = torch::mse_loss(output.to(torch::kFloat32), y);
    (loss * (step == 7 ? INFINITY : scale)).backward();
    if (masters.take_gradients(scale)) {
      optimizer.step();
      masters.round();
    } else {
      scale /= 2;
      ++skipped;
    }
    if (step % 10 == 9) std::printf("bfloat16 %.1f scale %.0f skipped %d\n", loss.item<float>(), scale, skipped);
  }
  for (const auto& parameter : net->parameters())
    std::cout << parameter.scalar_type() << ' ' << parameter.grad().scalar_type() << ' ';
  std::cout << '\n';

  torch::nn::Sequential exact(torch::nn::Linear(1, 8), torch::nn::Tanh(), torch::nn::Linear(8, 1));
  fill(*exact);
  exact->to(torch::kDouble);
  torch::optim::Adam adam(exact->parameters(), torch::optim::AdamOptions(0.02));
  const auto xd = torch::linspace(-1, 1, 16, torch::kDouble).unsqueeze(1), yd = (xd * 2).sin();
  for (int step = 0; step < 40; ++step) {
    adam.zero_grad();
    auto loss = torch::mse_loss(exact->forward(xd), yd);
    loss.backward();
    adam.step();
    if (step % 8 == 7) std::printf("double %.12f\n", loss.item<double>());
  }

  const auto half = torch::tensor({0.1, 1.0 / 3, 70000.0, 1e-8}).to(torch::kHalf);
  const auto brain = torch::tensor({0.1, 1.0 / 3, 70000.0, 1e-8}).to(torch::kBFloat16);
  std::cout << half << '\n' << brain << '\n';
  std::cout << (half + 1).scalar_type() << ' ' << (half + brain).scalar_type() << ' '
            << (half + torch::ones({4})).scalar_type() << ' '
            << (half * torch::tensor(2.0, torch::kDouble)).scalar_type() << ' '
            << (torch::arange(4) + half).scalar_type() << ' ' << (torch::arange(4) / 2).scalar_type() << ' '
            << torch::promote_types(torch::kInt, torch::kHalf) << ' '
            << torch::result_type(torch::ones({1}, torch::kShort), 2.5) << ' '
            << torch::can_cast(torch::kFloat, torch::kLong) << '\n';
  auto leaf = torch::ones({3}, torch::dtype(torch::kFloat32).requires_grad(true));
  (leaf.to(torch::kDouble).square() * torch::tensor({1.0, 2.0, 3.0}, torch::kDouble)).sum().backward();
  std::cout << leaf.grad() << '\n';
  return 0;
}
