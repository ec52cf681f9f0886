// A network of 1-d convolutions is saved with its optimizer in the middle of training, loaded into new objects, and
// continues with the same results.
#include <torch/torch.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

using namespace torch;

struct SignalNetImpl : nn::Module {
  SignalNetImpl() {
    body->push_back("conv1", nn::Conv1d(nn::Conv1dOptions(2, 8, 5).stride(2).padding(2)));
    body->push_back("norm1", nn::BatchNorm1d(8));
    body->push_back("act1", nn::SiLU());
    body->push_back("conv2", nn::Conv1d(nn::Conv1dOptions(8, 8, 3).padding(2).dilation(2).groups(2).bias(false)));
    body->push_back("norm2", nn::GroupNorm(nn::GroupNormOptions(4, 8)));
    body->push_back("act2", nn::ELU());
    body->push_back("pool", nn::AdaptiveAvgPool1d(4));
    register_module("body", body);
    head = register_module("head", nn::Linear(32, 3));
    scale = register_parameter("scale", torch::ones({1}));
    steps = register_buffer("steps", torch::zeros({1}, kLong));
  }
  Tensor forward(const Tensor& x) {
    if (is_training()) steps += 1;
    return head(body->forward(x).flatten(1)) * scale;
  }
  nn::Sequential body;
  nn::Linear head{nullptr};
  Tensor scale, steps;
};
TORCH_MODULE(SignalNet);

void fill(nn::Module& module) {
  NoGradGuard guard;
  int k = 0;
  for (auto& item : module.named_parameters()) {
    Tensor& p = item.value();
    if (item.key().find("bias") != std::string::npos) p.zero_();
    if (p.dim() > 1) p.copy_((torch::arange(p.numel(), kFloat) * 0.61 + ++k).sin().view(p.sizes()) * 0.4);
  }
}
double train(SignalNet& net, optim::Optimizer& optimizer, int from, int to) {
  double last = 0;
  for (int step = from; step < to; ++step) {
    const auto t = torch::arange(24, kFloat), classes = torch::arange(9) % 3;
    const auto phase = torch::arange(9, kFloat).view({9, 1}) * 0.3 + step * 0.1;
    const auto wave = (t * (classes + 1).to(kFloat).view({9, 1}) * 0.25 + phase).sin();
    const auto loss = nn::functional::cross_entropy(net(torch::stack({wave, wave.flip(1)}, 1)), classes);
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), 5.0);
    optimizer.step();
    last = loss.item<double>();
  }
  return last;
}

int main() {
  SignalNet net;
  fill(*net);
  optim::AdamW optimizer(net->parameters(), optim::AdamWOptions(0.01).weight_decay(0.05).amsgrad(true));
  std::printf("after ten steps %.4f\n", train(net, optimizer, 0, 10));

  std::stringstream model_file, optimizer_file;
  torch::save(net, model_file);
  torch::save(optimizer, optimizer_file);
  std::printf("and after twenty %.4f\n", train(net, optimizer, 10, 20));

  SignalNet other;
  optim::AdamW fresh(other->parameters(), optim::AdamWOptions(0.5));
  torch::load(other, model_file);
  torch::load(fresh, optimizer_file);
  std::cout << "loaded at step " << other->steps.item<int64_t>() << ", lr "
            << static_cast<optim::AdamWOptions&>(fresh.param_groups()[0].options()).lr() << "\n";
  std::printf("goes on to %.4f\n", train(other, fresh, 10, 20));
  const auto mine = net->named_parameters(), theirs = other->named_parameters();
  for (const auto& item : mine) std::cout << item.key() << " " << item.value().equal(theirs[item.key()]) << "\n";
  for (const auto& item : net->named_buffers())
    std::cout << item.key() << " " << item.value().sizes() << " "
              << item.value().equal(other->named_buffers()[item.key()]) << "\n";
  net->eval();
  NoGradGuard guard;
  std::cout << net->steps << net(torch::ones({1, 2, 24})).argmax(1) << "\n";
  return 0;
}
