// A convolutional autoencoder that removes noise from images of bars, with ModuleList and matching sizes.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <vector>

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

class AutoencoderImpl : public torch::nn::Module {
 public:
  explicit AutoencoderImpl(const std::vector<int64_t>& channels) {
    for (size_t i = 0; i + 1 < channels.size(); ++i)
      encoder_->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(channels[i], channels[i + 1], 3)
                                                .stride(2)
                                                .padding(1)
                                                .padding_mode(torch::kReflect)));
    for (size_t i = channels.size() - 1; i > 0; --i)
      decoder_->push_back(torch::nn::ConvTranspose2d(
          torch::nn::ConvTranspose2dOptions(channels[i], channels[i - 1], 3).stride(2).padding(1).output_padding(1)));
    register_module("encoder", encoder_);
    register_module("decoder", decoder_);
  }
  torch::Tensor encode(torch::Tensor x) {
    for (const auto& layer : *encoder_) x = torch::elu(layer->as<torch::nn::Conv2d>()->forward(x));
    return x;
  }
  torch::Tensor decode(torch::Tensor x) {
    for (size_t i = 0; i < decoder_->size(); ++i) {
      x = decoder_[i]->as<torch::nn::ConvTranspose2dImpl>()->forward(x);
      if (i + 1 < decoder_->size()) x = torch::elu(x);
    }
    return torch::sigmoid(x);
  }
  torch::Tensor forward(torch::Tensor x) { return decode(encode(x)); }

 private:
  torch::nn::ModuleList encoder_, decoder_;
};
TORCH_MODULE(Autoencoder);

torch::Tensor bars(int64_t count) {
  auto images = torch::zeros({count, 1, 8, 8}, torch::kFloat64);
  for (int64_t i = 0; i < count; ++i)
    if (i % 2 == 0)
      images[i][0].select(0, i % 8).fill_(1);
    else
      images.index_put_({i, 0, torch::indexing::Slice(), i % 8}, 1.0);
  return images;
}

int main() {
  Autoencoder model(std::vector<int64_t>{1, 4, 6});
  known(*model, 1.5);
  std::cout << *model->children()[0] << '\n';
  const auto clean = bars(8);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(0.02).weight_decay(1e-3));
  for (int epoch = 0; epoch < 40; ++epoch) {
    model->train();
    const auto noisy = (clean + 0.2 * wave(clean.sizes(), 0.31 + 0.01 * epoch)).clamp(0, 1);
    optimizer.zero_grad();
    const auto loss = torch::binary_cross_entropy(model(noisy), clean);
    loss.backward();
    optimizer.step();
    if (epoch % 8 == 0) std::printf("epoch %d loss %.5f\n", epoch, loss.item<double>());
  }
  torch::NoGradGuard no_grad;
  model->eval();
  const auto code = model->encode(clean);
  std::cout << code.sizes() << '\n' << code[0].mean({1, 2}) << '\n';
  std::cout << model->decode(code)[2][0].round().to(torch::kInt32) << '\n';
  return 0;
}
