// A small U-Net that segments the bright discs of images.
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

torch::nn::Sequential double_conv(int64_t in, int64_t out) {
  return torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1)),
                               torch::nn::GroupNorm(torch::nn::GroupNormOptions(2, out)), torch::nn::SiLU(),
                               torch::nn::Conv2d(torch::nn::Conv2dOptions(out, out, 3).padding(1)), torch::nn::SiLU());
}

struct UNetImpl : torch::nn::Module {
  UNetImpl() {
    down1 = register_module("down1", double_conv(1, 4));
    down2 = register_module("down2", double_conv(4, 8));
    middle = register_module("middle", double_conv(8, 8));
    up2 = register_module("up2", torch::nn::ConvTranspose2d(torch::nn::ConvTranspose2dOptions(8, 8, 2).stride(2)));
    merge2 = register_module("merge2", double_conv(16, 4));
    up1 = register_module("up1", torch::nn::Upsample(torch::nn::UpsampleOptions()
                                                         .scale_factor(std::vector<double>({2, 2}))
                                                         .mode(torch::kBilinear)
                                                         .align_corners(true)));
    merge1 = register_module("merge1", double_conv(8, 4));
    out = register_module("out", torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 1, 1)));
  }
  torch::Tensor forward(torch::Tensor x) {
    const auto a = down1->forward(x);
    const auto b = down2->forward(pool(a));
    auto y = middle->forward(pool(b));
    y = merge2->forward(torch::cat({up2(y), b}, 1));
    y = merge1->forward(torch::cat({up1(y), a}, 1));
    return out(y);
  }
  torch::nn::Sequential down1{nullptr}, down2{nullptr}, middle{nullptr}, merge2{nullptr}, merge1{nullptr};
  torch::nn::ConvTranspose2d up2{nullptr};
  torch::nn::Upsample up1{nullptr};
  torch::nn::MaxPool2d pool{2};
  torch::nn::Conv2d out{nullptr};
};
TORCH_MODULE(UNet);

int main() {
  UNet model;
  known(*model, 1.4);
  const auto places = torch::linspace(-1, 1, 12, torch::kFloat64);
  const auto grids = torch::meshgrid({places, places}, "ij");
  std::vector<torch::Tensor> masks;
  for (int i = 0; i < 4; ++i)
    masks.push_back(
        ((grids[0] - 0.2 * i + 0.3).square() + (grids[1] + 0.15 * i - 0.2).square() < 0.25).to(torch::kFloat64));
  const auto mask = torch::stack(masks).unsqueeze(1);
  const auto images = mask * 0.8 + 0.1 * wave(mask.sizes(), 1.7);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-2).weight_decay(1e-2));
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    const auto logits = model(images);
    const auto shares = torch::sigmoid(logits);
    const auto dice = 1 - 2 * (shares * mask).sum() / (shares.sum() + mask.sum());
    const auto loss = torch::binary_cross_entropy_with_logits(logits, mask) + dice;
    loss.backward();
    optimizer.step();
    std::printf("step %d loss %.6f dice %.6f\n", step, loss.item<double>(), dice.item<double>());
  }
  torch::NoGradGuard guard;
  const auto predicted = (model(images) > 0).to(torch::kInt64);
  std::cout << predicted.sum({1, 2, 3}) << '\n' << predicted[0][0] << '\n';
  return 0;
}
