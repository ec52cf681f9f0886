// A variational autoencoder with noise from a formula.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <tuple>

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

struct VAEImpl : torch::nn::Module {
  VAEImpl(int64_t image, int64_t hidden, int64_t latent)
      : fc1(image, hidden), fc2(hidden, latent), fc3(hidden, latent), fc4(latent, hidden), fc5(hidden, image) {
    register_module("fc1", fc1);
    register_module("fc2", fc2);
    register_module("fc3", fc3);
    register_module("fc4", fc4);
    register_module("fc5", fc5);
  }
  std::pair<torch::Tensor, torch::Tensor> encode(torch::Tensor x) {
    auto h = torch::nn::functional::relu(fc1->forward(x));
    return {fc2->forward(h), fc3->forward(h)};
  }
  torch::Tensor reparameterize(torch::Tensor mu, torch::Tensor log_var, torch::Tensor noise) {
    return is_training() ? mu + noise * log_var.div(2).exp() : mu;
  }
  torch::Tensor decode(torch::Tensor z) { return torch::sigmoid(fc5->forward(torch::relu(fc4->forward(z)))); }
  std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> forward(torch::Tensor x, torch::Tensor noise) {
    auto [mu, log_var] = encode(x);
    return {decode(reparameterize(mu, log_var, noise)), mu, log_var};
  }
  torch::nn::Linear fc1, fc2, fc3, fc4, fc5;
};
TORCH_MODULE(VAE);

int main() {
  VAE model(16, 10, 2);
  known(*model);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(1e-2));
  const auto images = (wave({8, 16}, 0.9) + 1) / 2;
  model->train();
  for (int step = 0; step < 30; ++step) {
    auto [reconstruction, mu, log_var] = model->forward(images, wave({8, 2}, 1.3 + step));
    const auto error = torch::nn::functional::binary_cross_entropy(
        reconstruction, images, torch::nn::functional::BinaryCrossEntropyFuncOptions().reduction(torch::kSum));
    const auto divergence = -0.5 * torch::sum(1 + log_var - mu.pow(2) - log_var.exp());
    const auto loss = error + divergence;
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 6 == 0)
      std::printf("step %d reconstruction %.5f divergence %.5f\n", step, error.item<double>(),
                  divergence.item<double>());
  }
  model->eval();
  torch::NoGradGuard no_grad;
  std::cout << std::get<1>(model->forward(images, {})) << '\n';
  std::cout << model->decode(torch::tensor({{0.5, -1.0}}, torch::kFloat64)) << '\n';
  return 0;
}
