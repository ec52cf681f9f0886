// A data-parallel step by hand and by torch::nn::parallel: chunks, clones, summed gradients.
#include <torch/nn/parallel/data_parallel.h>
#include <torch/torch.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    fc1 = register_module("fc1", torch::nn::Linear(4, 6));
    fc2 = register_module("fc2", torch::nn::Linear(torch::nn::LinearOptions(6, 2).bias(false)));
  }
  torch::Tensor forward(torch::Tensor x) { return fc2(torch::tanh(fc1(x))); }
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};
TORCH_MODULE(Net);

int main() {
  Net net;
  {
    torch::NoGradGuard guard;
    for (auto& p : net->parameters()) p.copy_(torch::linspace(-0.5, 0.5, p.numel()).view(p.sizes()));
  }
  const auto x = torch::linspace(-1, 1, 28).view({7, 4}), y = torch::stack({x.sum(1), x.prod(1)}, 1);

  auto whole = torch::mse_loss(net(x), y, torch::Reduction::Sum);
  whole.backward();
  std::printf("whole batch: %.3f\n", whole.item<float>());
  std::vector<torch::Tensor> wanted;
  for (auto& p : net->parameters()) wanted.push_back(p.grad().clone());

  // Two replicas, each with a part of the batch.
  net->zero_grad();
  const auto parts = x.chunk(2), targets = y.chunk(2);
  std::vector<Net> replicas;
  for (size_t i = 0; i < parts.size(); ++i) {
    replicas.emplace_back(std::dynamic_pointer_cast<NetImpl>(net->clone()));
    auto loss = torch::mse_loss(replicas[i](parts[i]), targets[i], torch::Reduction::Sum);
    loss.backward();
    std::printf("part %zu of %lld rows: %.3f\n", i, (long long)parts[i].size(0), loss.item<float>());
  }
  for (size_t k = 0; k < wanted.size(); ++k) {
    const auto sum = replicas[0]->parameters()[k].grad() + replicas[1]->parameters()[k].grad();
    std::cout << sum.sizes() << " " << torch::allclose(sum, wanted[k], 1e-5, 1e-6) << " "
              << replicas[0]->parameters()[k].is_same(net->parameters()[k]) << "\n";
  }

  // The same step by the library, on the CPU.
  const std::vector<torch::Device> devices{torch::Device(torch::kCPU)};
  auto out = torch::nn::parallel::data_parallel(net, x, devices, torch::Device(torch::kCPU));
  std::cout << out.sizes() << " " << torch::allclose(out, net(x)) << " " << out.device() << "\n";
  torch::mse_loss(out, y, torch::Reduction::Sum).backward();
  for (size_t k = 0; k < wanted.size(); ++k)
    std::cout << torch::allclose(net->parameters()[k].grad(), wanted[k], 1e-5, 1e-6);
  std::cout << "\n";
  torch::optim::SGD(net->parameters(), 0.01).step();
  std::printf("after a step: %.3f\n", torch::mse_loss(net(x), y, torch::Reduction::Sum).item<float>());
  return 0;
}
