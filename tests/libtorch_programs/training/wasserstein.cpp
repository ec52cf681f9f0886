// A WGAN with gradient penalty in one dimension, with samples from a formula, and then averaged weights.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <memory>

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

/// Converts a module to float64 and sets its parameters to fixed values; the wider a layer, the smaller the values.
void known(torch::nn::Module& module, double scale = 1) {
  module.to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.5;
  for (auto& parameter : module.parameters()) {
    const double fan = parameter.dim() > 1 ? static_cast<double>(parameter.numel() / parameter.size(0)) : 4;
    parameter.copy_(wave(parameter.sizes(), step += 0.11) * scale / std::sqrt(fan));
  }
}

torch::nn::Sequential perceptron(int64_t in, int64_t hidden, int64_t out) {
  torch::nn::Sequential net(torch::nn::Linear(in, hidden), torch::nn::Tanh(), torch::nn::Linear(hidden, hidden),
                            torch::nn::Softplus(torch::nn::SoftplusOptions().beta(2)), torch::nn::Linear(hidden, out));
  known(*net);
  return net;
}

torch::Tensor gradient_penalty(torch::nn::Sequential& critic, const torch::Tensor& real, const torch::Tensor& fake,
                               const torch::Tensor& mix) {
  const auto between = (mix * real + (1 - mix) * fake).detach().requires_grad_(true);
  const auto score = critic->forward(between);
  const auto gradients = torch::autograd::grad({score}, {between}, /*grad_outputs=*/{torch::ones_like(score)},
                                               /*retain_graph=*/true, /*create_graph=*/true);
  return (gradients[0].norm(2, 1) - 1).pow(2).mean();
}

int main() {
  auto generator = perceptron(2, 8, 2), critic = perceptron(2, 10, 1);
  auto average = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(generator->clone());
  for (auto& parameter : average->parameters()) parameter.set_requires_grad(false);
  torch::optim::Adam for_generator(generator->parameters(), torch::optim::AdamOptions(0.01).betas({0.0, 0.9}));
  torch::optim::Adam for_critic(critic->parameters(), torch::optim::AdamOptions(0.02).betas({0.0, 0.9}));
  const auto angle = torch::linspace(0, 6, 16, torch::kFloat64);
  const auto real = torch::stack({angle.cos() * 2, angle.sin()}, 1);
  for (int step = 1; step <= 12; ++step) {
    torch::Tensor critic_loss, penalty;
    for (int inner = 0; inner < 3; ++inner) {
      const auto noise = wave({16, 2}, 0.9 + 0.1 * step + 0.03 * inner);
      const auto fake = generator->forward(noise).detach();
      const auto mix = (wave({16, 1}, 1.7 + 0.1 * inner) + 1) / 2;
      penalty = gradient_penalty(critic, real, fake, mix);
      critic_loss = critic->forward(fake).mean() - critic->forward(real).mean() + 10 * penalty;
      for_critic.zero_grad();
      critic_loss.backward();
      for_critic.step();
    }
    for (auto& parameter : critic->parameters()) parameter.set_requires_grad(false);
    const auto loss = -critic->forward(generator->forward(wave({16, 2}, 0.95 + 0.1 * step))).mean();
    for_generator.zero_grad();
    loss.backward();
    for_generator.step();
    for (auto& parameter : critic->parameters()) parameter.set_requires_grad(true);
    {
      torch::NoGradGuard guard;
      const auto now = generator->parameters();
      auto kept = average->parameters();
      for (size_t i = 0; i < now.size(); ++i) kept[i].mul_(0.8).add_(now[i], 0.2);
    }
    if (step % 2 == 0)
      std::printf("step %d critic %.6f penalty %.6f generator %.6f\n", step, critic_loss.item<double>(),
                  penalty.item<double>(), loss.item<double>());
  }
  torch::NoGradGuard guard;
  const auto noise = wave({4, 2}, 0.8);
  std::cout << generator->forward(noise) << '\n' << average->forward(noise) << '\n';
  return 0;
}
