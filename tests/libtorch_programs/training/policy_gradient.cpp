// REINFORCE with a baseline in a small corridor environment: an actor and a critic with a shared body.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <tuple>
#include <utility>
#include <vector>

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

/// A walk along seven cells from the middle. Reward 1 at the right end, -1 at the left end.
class Corridor {
 public:
  torch::Tensor reset() {
    cell_ = 3;
    steps_ = 0;
    return state();
  }
  std::tuple<torch::Tensor, double, bool> step(int64_t action) {
    cell_ += action == 1 ? 1 : -1;
    ++steps_;
    const bool done = cell_ == 0 || cell_ == 6 || steps_ == 20;
    return {state(), cell_ == 6 ? 1.0 : cell_ == 0 ? -1.0 : -0.01, done};
  }

 private:
  torch::Tensor state() const { return torch::one_hot(torch::tensor(cell_), 7).to(torch::kFloat64); }
  int64_t cell_ = 3;
  int steps_ = 0;
};

struct PolicyImpl : torch::nn::Module {
  PolicyImpl() {
    body = register_module("body", torch::nn::Linear(7, 8));
    actor = register_module("actor", torch::nn::Linear(8, 2));
    critic = register_module("critic", torch::nn::Linear(8, 1));
  }
  std::pair<torch::Tensor, torch::Tensor> forward(const torch::Tensor& state) {
    const auto h = torch::tanh(body(state));
    return {torch::log_softmax(actor(h), -1), critic(h).squeeze(-1)};
  }
  torch::nn::Linear body{nullptr}, actor{nullptr}, critic{nullptr};
};
TORCH_MODULE(Policy);

std::vector<double> discounted(const std::vector<double>& rewards, double gamma) {
  std::vector<double> returns(rewards.size());
  double following = 0;
  for (size_t i = rewards.size(); i-- > 0;) returns[i] = following = rewards[i] + gamma * following;
  return returns;
}

int main() {
  Policy policy;
  known(*policy);
  torch::optim::Adam optimizer(policy->parameters(), torch::optim::AdamOptions(0.03));
  Corridor corridor;
  uint32_t draw = 12345;
  const auto uniform = [&draw] {
    draw = draw * 1664525u + 1013904223u;
    return draw / 4294967296.0;
  };
  for (int episode = 0; episode < 40; ++episode) {
    auto state = corridor.reset();
    std::vector<torch::Tensor> log_probs, values, entropies;
    std::vector<double> rewards;
    for (bool done = false; !done;) {
      auto [log_p, value] = policy->forward(state);
      const int64_t action = uniform() < log_p[1].exp().item<double>() ? 1 : 0;
      double reward = 0;
      std::tie(state, reward, done) = corridor.step(action);
      log_probs.push_back(log_p[action]);
      values.push_back(value);
      entropies.push_back(-(log_p.exp() * log_p).sum());
      rewards.push_back(reward);
    }
    auto returns = torch::tensor(discounted(rewards, 0.95), torch::kFloat64);
    const auto value = torch::stack(values);
    const auto advantage = returns - value.detach();
    const auto policy_loss = -(torch::stack(log_probs) * advantage).sum();
    const auto value_loss = torch::smooth_l1_loss(value, returns, torch::Reduction::Sum);
    const auto loss = policy_loss + value_loss - 0.01 * torch::stack(entropies).sum();
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (episode % 5 == 0)
      std::printf("episode %d steps %d reward %.2f loss %.5f\n", episode, static_cast<int>(rewards.size()),
                  returns[0].item<double>(), loss.item<double>());
  }
  torch::NoGradGuard guard;
  auto [log_p, value] = policy->forward(torch::eye(7, torch::kFloat64));
  std::cout << log_p.exp() << '\n' << value << '\n';
  return 0;
}
