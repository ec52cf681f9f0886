// Every optimizer of LibTorch on the same small problem, with options, parameter groups and closures.
#include <torch/torch.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

torch::Tensor start() { return torch::tensor({-1.2, 1.0}, torch::dtype(torch::kFloat64).requires_grad(true)); }

torch::Tensor rosenbrock(const torch::Tensor& x) {
  return torch::pow(1 - x[0], 2) + 10 * torch::pow(x[1] - x[0] * x[0], 2);
}

template <class Optimizer, class Options> void descend(const char* name, Options options, int steps = 40) {
  auto x = start();
  Optimizer optimizer(std::vector<torch::Tensor>{x}, options);
  std::printf("%s:", name);
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    auto loss = rosenbrock(x);
    loss.backward();
    optimizer.step();
    if (step % 10 == 9) std::printf(" %.6f", loss.template item<double>());
  }
  std::printf(" at (%.6f, %.6f)\n", x[0].item<double>(), x[1].item<double>());
}

void every() {
  using namespace torch::optim;
  descend<SGD>("sgd", SGDOptions(2e-3));
  descend<SGD>("sgd with momentum", SGDOptions(1e-3).momentum(0.9).dampening(0.1).weight_decay(1e-2));
  descend<SGD>("sgd of Nesterov", SGDOptions(1e-3).momentum(0.9).nesterov(true));
  descend<Adam>("adam", AdamOptions(0.1));
  descend<Adam>("amsgrad", AdamOptions(0.1).amsgrad(true).betas({0.8, 0.95}).eps(1e-6).weight_decay(1e-2));
  descend<AdamW>("adamw", AdamWOptions(0.1).weight_decay(0.1));
  descend<AdamW>("adamw with amsgrad", AdamWOptions(0.05).amsgrad(true).betas(std::make_tuple(0.7, 0.9)));
  descend<RMSprop>("rmsprop", RMSpropOptions(0.02));
  descend<RMSprop>("rmsprop, centered",
                   RMSpropOptions(0.01).centered(true).momentum(0.5).alpha(0.9).weight_decay(1e-3));
  descend<Adagrad>("adagrad", AdagradOptions(0.3));
  descend<Adagrad>("adagrad, decayed",
                   AdagradOptions(0.5).lr_decay(0.05).initial_accumulator_value(0.1).eps(1e-6).weight_decay(1e-2));
}

void lbfgs() {
  for (const bool wolfe : {false, true}) {
    auto x = start();
    auto options = torch::optim::LBFGSOptions(wolfe ? 1.0 : 0.1).max_iter(6).history_size(4);
    if (wolfe) options.line_search_fn("strong_wolfe");
    torch::optim::LBFGS optimizer({x}, options);
    int calls = 0;
    for (int step = 0; step < 5; ++step) {
      const auto loss = optimizer.step([&] {
        ++calls;
        optimizer.zero_grad();
        auto loss = rosenbrock(x);
        loss.backward();
        return loss;
      });
      std::printf("lbfgs %.6f after %d calls\n", loss.item<double>(), calls);
    }
    std::cout << x << '\n';
  }
}

void groups() {
  auto a = start(), b = start(), c = start();
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<torch::Tensor>{a}, std::make_unique<torch::optim::SGDOptions>(0.01));
  groups.emplace_back(std::vector<torch::Tensor>{b});
  torch::optim::SGD optimizer(groups, torch::optim::SGDOptions(0.002).momentum(0.5));
  optimizer.add_param_group(torch::optim::OptimizerParamGroup({c}));
  static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[2].options()).lr(0.004);
  for (int step = 0; step < 5; ++step) {
    if (step == 3)
      for (auto& group : optimizer.param_groups()) group.options().set_lr(group.options().get_lr() / 2);
    optimizer.zero_grad();
    const auto loss = optimizer.step([&] {
      const auto loss = (a * a).sum() + (b * b).sum() + (c * c).sum();
      loss.backward();
      return loss;
    });
    std::printf("groups %.6f\n", loss.item<double>());
  }
  std::cout << torch::stack({a, b, c}) << '\n';
  for (const auto& group : optimizer.param_groups()) {
    const auto& options = static_cast<const torch::optim::SGDOptions&>(group.options());
    std::cout << group.params().size() << ' ' << group.has_options() << ' ' << options.lr() << ' ' << options.momentum()
              << ' ' << options.nesterov() << '\n';
  }
  std::cout << static_cast<torch::optim::SGDOptions&>(optimizer.defaults()).lr() << '\n';
}

int main() {
  every();
  lbfgs();
  groups();
  return 0;
}
