// A convolutional network learns digits drawn by a formula, like the MNIST example of LibTorch.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

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

struct NetImpl : torch::nn::Module {
  NetImpl()
      : conv1(torch::nn::Conv2dOptions(1, 4, /*kernel_size=*/3)),
        conv2(torch::nn::Conv2dOptions(4, 8, /*kernel_size=*/3)),
        fc1(32, 16),
        fc2(16, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("conv2_drop", conv2_drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(conv2_drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 32});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, /*p=*/0.5, /*training=*/false);
    return torch::log_softmax(fc2->forward(x), /*dim=*/1);
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Dropout2d conv2_drop{torch::nn::Dropout2dOptions().p(0.0)};
  torch::nn::Linear fc1, fc2;
};
TORCH_MODULE(Net);

/// Images of digits: each digit is a wave with its own direction and length, shifted a little in each example.
torch::Tensor digits(const torch::Tensor& labels, double shift) {
  const auto row = torch::arange(14, torch::kFloat64).view({1, 14, 1}), column = row.transpose(1, 2);
  const auto d = labels.to(torch::kFloat64).view({-1, 1, 1});
  const auto moved = torch::arange(labels.size(0), torch::kFloat64).view({-1, 1, 1}) * shift;
  return ((row * (0.3 + 0.15 * d) + column * (1.2 - 0.1 * d) + moved).sin() > 0.2).to(torch::kFloat64).unsqueeze(1);
}

int main() {
  Net model;
  known(*model, 1.4);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.1).momentum(0.5));
  const auto labels = torch::arange(40).remainder(10);
  const auto images = (digits(labels, 0.05) - 0.45) / 0.5;
  for (int64_t epoch = 1; epoch <= 6; ++epoch) {
    model->train();
    double total = 0;
    for (int64_t first = 0; first < 40; first += 20) {
      const auto data = images.slice(0, first, first + 20), targets = labels.slice(0, first, first + 20);
      optimizer.zero_grad();
      const auto output = model->forward(data);
      const auto loss = torch::nll_loss(output, targets);
      loss.backward();
      optimizer.step();
      total += loss.item<double>();
    }
    std::printf("epoch %d loss %.6f\n", static_cast<int>(epoch), total / 2);
  }
  torch::NoGradGuard no_grad;
  model->eval();
  const auto output = model->forward((digits(labels, 0.04) - 0.45) / 0.5);
  const auto pred = output.argmax(1);
  std::cout << pred.eq(labels).sum().item<int64_t>() << " of " << labels.size(0) << " right\n"
            << pred.slice(0, 0, 10) << '\n';
  std::cout << output.slice(0, 0, 2) << '\n';
  return 0;
}
