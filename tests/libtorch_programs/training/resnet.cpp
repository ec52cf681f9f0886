// A small ResNet of basic blocks, trained by SGD with weight decay and Nesterov momentum.
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

struct BasicBlockImpl : torch::nn::Module {
  BasicBlockImpl(int64_t in, int64_t out, int64_t stride)
      : conv1(torch::nn::Conv2dOptions(in, out, 3).stride(stride).padding(1).bias(false)),
        bn1(out),
        conv2(torch::nn::Conv2dOptions(out, out, 3).padding(1).bias(false)),
        bn2(out) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    register_module("conv2", conv2);
    register_module("bn2", bn2);
    if (stride != 1 || in != out)
      downsample =
          torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 1).stride(stride).bias(false)),
                                torch::nn::BatchNorm2d(out));
    register_module("downsample", downsample);
  }
  torch::Tensor forward(torch::Tensor x) {
    auto y = torch::relu(bn1(conv1(x)));
    y = bn2(conv2(y));
    y += downsample->is_empty() ? x : downsample->forward(x);
    return torch::relu(y);
  }
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
  torch::nn::Sequential downsample;
};
TORCH_MODULE(BasicBlock);

struct ResNetImpl : torch::nn::Module {
  explicit ResNetImpl(int64_t classes)
      : conv1(torch::nn::Conv2dOptions(3, width, 3).padding(1).bias(false)), bn1(width), fc(2 * width, classes) {
    register_module("conv1", conv1);
    register_module("bn1", bn1);
    layer1 = register_module("layer1", make_layer(width, 2, 1));
    layer2 = register_module("layer2", make_layer(2 * width, 2, 2));
    register_module("fc", fc);
    for (auto& module : modules(/*include_self=*/false))
      if (auto* norm = module->as<torch::nn::BatchNorm2dImpl>()) torch::nn::init::constant_(norm->weight, 1);
  }
  torch::nn::Sequential make_layer(int64_t out, int64_t blocks, int64_t stride) {
    torch::nn::Sequential layers;
    for (int64_t i = 0; i < blocks; ++i) {
      layers->push_back(BasicBlock(in, out, i == 0 ? stride : 1));
      in = out;
    }
    return layers;
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(bn1(conv1(x)));
    x = torch::max_pool2d(x, 3, 2, 1);
    x = layer2->forward(layer1->forward(x));
    return fc(torch::flatten(torch::adaptive_avg_pool2d(x, {1, 1}), 1));
  }
  int64_t width = 4, in = 4;
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Sequential layer1, layer2;
  torch::nn::Linear fc;
};
TORCH_MODULE(ResNet);

int main() {
  ResNet model(3);
  known(*model, 1.5);
  int64_t count = 0;
  for (const auto& parameter : model->named_parameters()) {
    if (parameter.key().find("layer2.0") == 0) std::cout << parameter.key() << ' ' << parameter->sizes() << '\n';
    count += parameter->numel();
  }
  std::cout << count << " parameters\n";
  torch::optim::SGD optimizer(model->parameters(),
                              torch::optim::SGDOptions(0.05).momentum(0.9).weight_decay(1e-3).nesterov(true));
  const auto x = wave({6, 3, 12, 12}, 0.37);
  const auto y = torch::tensor({0, 1, 2, 2, 1, 0});
  for (int step = 0; step < 6; ++step) {
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(model(x), y);
    loss.backward();
    optimizer.step();
    std::printf("step %d loss %.5f\n", step, loss.item<double>());
  }
  model->eval();
  torch::NoGradGuard guard;
  std::cout << model(x) << '\n' << model->bn1->running_var << '\n';
  return 0;
}
