// A generator and a discriminator trained against each other, as a LibTorch user would write them.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

constexpr int64_t kNoise = 8, kBatch = 16, kSteps = 60;

struct GeneratorImpl : torch::nn::Module {
  GeneratorImpl()
      : conv1(torch::nn::ConvTranspose2dOptions(kNoise, 16, 4).bias(false)),
        norm1(16),
        conv2(torch::nn::ConvTranspose2dOptions(16, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("norm1", norm1);
    register_module("conv2", conv2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(norm1(conv1(x)));
    return torch::tanh(conv2(x));
  }
  torch::nn::ConvTranspose2d conv1;
  torch::nn::BatchNorm2d norm1;
  torch::nn::ConvTranspose2d conv2;
};
TORCH_MODULE(Generator);

/// Returns 8 x 8 pixel images of bright squares on a dark background, with some noise.
torch::Tensor real_images() {
  torch::Tensor x = torch::full({kBatch, 1, 8, 8}, -0.9);
  x.slice(2, 2, 6).slice(3, 2, 6).fill_(0.9);
  return x + 0.05 * torch::randn_like(x);
}

int main() {
  torch::manual_seed(1);
  Generator generator;
  torch::nn::Sequential discriminator(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 4).stride(2).padding(1).bias(false)),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 1, 4).bias(false)), torch::nn::Sigmoid(), torch::nn::Flatten());
  torch::optim::Adam generator_optimizer(generator->parameters(),
                                         torch::optim::AdamOptions(1e-2).betas(std::make_tuple(0.5, 0.999)));
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(),
                                             torch::optim::AdamOptions(2e-3).betas(std::make_tuple(0.5, 0.999)));
  const auto distance = [&] {  // distance between generated and real images
    torch::NoGradGuard guard;
    return (generator(torch::randn({kBatch, kNoise, 1, 1})).mean(0) - real_images().mean(0)).abs().mean().item<float>();
  };
  const float before = distance();
  for (const auto step : c10::irange(0, kSteps)) {
    discriminator->zero_grad();
    const torch::Tensor real = discriminator->forward(real_images()).reshape({kBatch});
    const torch::Tensor fake_images = generator->forward(torch::randn({kBatch, kNoise, 1, 1}));
    torch::Tensor fake = discriminator->forward(fake_images.detach()).reshape({kBatch});
    torch::Tensor loss = torch::binary_cross_entropy(real, torch::empty(kBatch).uniform_(0.8, 1.0)) +
                         torch::binary_cross_entropy(fake, torch::zeros(kBatch));
    loss.backward();
    discriminator_optimizer.step();

    generator->zero_grad();
    fake = discriminator->forward(fake_images).reshape({kBatch});
    torch::Tensor generator_loss = torch::binary_cross_entropy(fake, torch::ones(kBatch));
    generator_loss.backward();
    generator_optimizer.step();
    if (step % 20 == 0)
      std::cout << torch::str("step ", step, ": D ", loss.item<float>(), ", G ", generator_loss.item<float>()) << "\n";
  }
  const float after = distance();
  std::cout << "distance from what is real: " << before << ", then " << after << "\n";
  TORCH_CHECK(std::isfinite(after) && after < before / 2, "the generator did not learn");
}
