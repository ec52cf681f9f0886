// Some steps of a DCGAN: two networks, two optimizers, noise from a formula.
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

constexpr int64_t kNoise = 4, kBatch = 3;

struct DCGANGeneratorImpl : torch::nn::Module {
  explicit DCGANGeneratorImpl(int64_t noise)
      : conv1(torch::nn::ConvTranspose2dOptions(noise, 8, 3).bias(false)),
        batch_norm1(8),
        conv2(torch::nn::ConvTranspose2dOptions(8, 4, 3).stride(2).padding(1).bias(false)),
        batch_norm2(4),
        conv3(torch::nn::ConvTranspose2dOptions(4, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("batch_norm1", batch_norm1);
    register_module("conv2", conv2);
    register_module("batch_norm2", batch_norm2);
    register_module("conv3", conv3);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(batch_norm1(conv1(x)));
    x = torch::relu(batch_norm2(conv2(x)));
    return torch::tanh(conv3(x));
  }
  torch::nn::ConvTranspose2d conv1;
  torch::nn::BatchNorm2d batch_norm1;
  torch::nn::ConvTranspose2d conv2;
  torch::nn::BatchNorm2d batch_norm2;
  torch::nn::ConvTranspose2d conv3;
};
TORCH_MODULE(DCGANGenerator);

int main() {
  DCGANGenerator generator(kNoise);
  known(*generator);
  torch::nn::Sequential discriminator(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 4).stride(2).padding(1).bias(false)),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 8, 3).stride(2).padding(1).bias(false)), torch::nn::BatchNorm2d(8),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 1, 3).stride(1).padding(0).bias(false)), torch::nn::Sigmoid());
  known(*discriminator);
  torch::optim::Adam generator_optimizer(generator->parameters(),
                                         torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(),
                                             torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.5)));
  const auto column = torch::linspace(-1, 1, 10, torch::kFloat64);
  for (int step = 1; step <= 5; ++step) {
    discriminator->zero_grad();
    const auto real_images =
        (column.view({1, 1, 10, 1}) * column.view({1, 1, 1, 10}) * 3 + wave({kBatch, 1, 1, 1}, step)).cos();
    const auto real_output = discriminator->forward(real_images).flatten();
    const auto d_loss_real = torch::binary_cross_entropy(real_output, torch::full_like(real_output, 0.9));
    d_loss_real.backward();
    const auto fake_images = generator->forward(wave({kBatch, kNoise, 1, 1}, 0.3 + step));
    const auto fake_output = discriminator->forward(fake_images.detach()).flatten();
    const auto d_loss_fake = torch::binary_cross_entropy(fake_output, torch::zeros_like(fake_output));
    d_loss_fake.backward();
    const auto d_loss = d_loss_real + d_loss_fake;
    discriminator_optimizer.step();

    generator->zero_grad();
    const auto judged = discriminator->forward(fake_images).flatten();
    const auto g_loss = torch::binary_cross_entropy(judged, torch::ones_like(judged));
    g_loss.backward();
    generator_optimizer.step();
    std::printf("[%d] D_loss: %.6f | G_loss: %.6f\n", step, d_loss.item<double>(), g_loss.item<double>());
    if (step == 1)
      std::cout << fake_images.sizes() << '\n' << generator->conv1->weight.grad().flatten().slice(0, 0, 6) << '\n';
  }
  generator->eval();
  std::cout << generator->batch_norm1->running_mean << '\n' << generator(wave({1, kNoise, 1, 1}))[0][0][4] << '\n';
  return 0;
}
