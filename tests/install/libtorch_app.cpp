#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/optim/sgd.h>
#include <torch/torch.h>

#include <iostream>

struct NetImpl : torch::nn::Module {
  NetImpl() : fc(register_module("fc", torch::nn::Linear(2, 1))) {}
  at::Tensor forward(const at::Tensor& x) { return fc(x); }
  torch::nn::Linear fc;
};
TORCH_MODULE(Net);

int main() {
  torch::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net->parameters(), /*lr=*/0.1);
  net(torch::ones({3, 2})).sum().backward();
  optimizer.step();
  TORCH_CHECK(net->fc->weight.grad().eq(3).all().item<bool>(), "the gradient is ", net->fc->weight.grad());
  try {
    torch::zeros({2}).view({3});
  } catch (const c10::Error& error) {
    std::cout << error.what() << "\n";
  }
}
