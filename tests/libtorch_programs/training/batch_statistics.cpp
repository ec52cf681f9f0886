// Running statistics of batch norm over several steps: momentum, cumulative averages, evaluation, buffers, reset.
#include <torch/torch.h>

#include <iostream>
#include <string>

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

void show(const std::string& what, torch::nn::BatchNorm1d& norm) {
  std::cout << what << ' ' << norm->num_batches_tracked.item<int64_t>() << '\n'
            << torch::stack({norm->running_mean, norm->running_var}) << '\n';
}

struct NetImpl : torch::nn::Module {
  NetImpl() : conv(torch::nn::Conv2dOptions(2, 3, 3).bias(false)), norm(3), fc(3, 2) {
    register_module("conv", conv);
    register_module("norm", norm);
    register_module("fc", fc);
  }
  torch::Tensor forward(torch::Tensor x) { return fc(torch::relu(norm(conv(x))).mean({2, 3})); }
  torch::nn::Conv2d conv;
  torch::nn::BatchNorm2d norm;
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

int main() {
  for (const bool cumulative : {false, true}) {
    torch::nn::BatchNorm1d norm(
        torch::nn::BatchNorm1dOptions(3).momentum(cumulative ? c10::optional<double>() : 0.3).eps(1e-3));
    norm->to(torch::kFloat64);
    for (int step = 1; step <= 4; ++step) {
      const auto y = norm(wave({4, 3}, 0.1 * step) * step + step);
      if (step % 2 == 0) {
        show(cumulative ? "cumulative" : "momentum", norm);
        std::cout << y << '\n';
      }
    }
    norm->eval();
    std::cout << norm(wave({2, 3})) << '\n';
    show("after evaluation", norm);
    norm->reset_running_stats();
    show("reset", norm);
  }
  torch::nn::BatchNorm1d untracked(torch::nn::BatchNorm1dOptions(2).track_running_stats(false).affine(false));
  untracked->eval();
  std::cout << untracked(wave({3, 2}).to(torch::kFloat32)) << '\n'
            << untracked->running_mean.defined() << untracked->parameters().size() << untracked->buffers().size()
            << '\n';

  Net net;
  net->to(torch::kFloat64);
  {
    torch::NoGradGuard guard;
    for (auto& parameter : net->parameters()) parameter.copy_(wave(parameter.sizes(), 0.6) * 0.5);
  }
  for (const auto& buffer : net->named_buffers()) std::cout << buffer.key() << ' ' << buffer->sizes() << '\n';
  torch::optim::SGD optimizer(net->parameters(), 0.2);
  const auto x = wave({4, 2, 6, 6}, 0.23);
  const auto target = torch::tensor({0, 1, 1, 0});
  for (int step = 0; step < 6; ++step) {
    net->train(step < 4);  // from step 4 on, the running statistics are fixed
    optimizer.zero_grad();
    const auto loss = torch::cross_entropy_loss(net(x), target);
    loss.backward();
    optimizer.step();
    std::printf("%d %d %.6f %.6f\n", step, static_cast<int>(net->norm->is_training()), loss.item<double>(),
                net->norm->running_var.sum().item<double>());
  }
  std::cout << net->norm->weight << '\n'
            << net->norm->weight.grad() << '\n'
            << net->norm->num_batches_tracked.item<int64_t>() << '\n';
  return 0;
}
