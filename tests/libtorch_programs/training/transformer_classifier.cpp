// A transformer encoder with positions classifies sequences by the order of their tokens.
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

struct PositionalEncodingImpl : torch::nn::Module {
  PositionalEncodingImpl(int64_t size, int64_t longest) {
    const auto position = torch::arange(longest, torch::kFloat64).unsqueeze(1);
    const auto rates = torch::exp(torch::arange(0, size, 2, torch::kFloat64) * (-std::log(10000.0) / size));
    auto table = torch::zeros({longest, 1, size}, torch::kFloat64);
    using torch::indexing::None;
    using torch::indexing::Slice;
    table.index_put_({Slice(), 0, Slice(0, None, 2)}, torch::sin(position * rates));
    table.index_put_({Slice(), 0, Slice(1, None, 2)}, torch::cos(position * rates));
    this->table = register_buffer("table", table);
  }
  torch::Tensor forward(const torch::Tensor& x) { return x + table.slice(0, 0, x.size(0)); }
  torch::Tensor table;
};
TORCH_MODULE(PositionalEncoding);

struct ClassifierImpl : torch::nn::Module {
  ClassifierImpl(int64_t tokens, int64_t size, int64_t heads, int64_t classes)
      : embedding(tokens, size),
        positions(size, 16),
        encoder(torch::nn::TransformerEncoderOptions(torch::nn::TransformerEncoderLayerOptions(size, heads)
                                                         .dim_feedforward(16)
                                                         .dropout(0.0)
                                                         .activation(torch::kGELU),
                                                     2)
                    .norm(torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({size}))))),
        out(size, classes),
        size(size) {
    register_module("embedding", embedding);
    register_module("positions", positions);
    register_module("encoder", encoder);
    register_module("out", out);
  }
  torch::Tensor forward(const torch::Tensor& tokens, const torch::Tensor& padding = {}) {
    auto x = positions(embedding(tokens) * std::sqrt(static_cast<double>(size)));
    x = encoder(x, /*src_mask=*/torch::Tensor(), /*src_key_padding_mask=*/padding);
    return out(x.mean(0));
  }
  torch::nn::Embedding embedding;
  PositionalEncoding positions;
  torch::nn::TransformerEncoder encoder;
  torch::nn::Linear out;
  int64_t size;
};
TORCH_MODULE(Classifier);

int main() {
  // class 1 if token 1 comes before token 2
  const auto tokens =
      torch::tensor({{1, 0, 2, 3}, {2, 3, 1, 0}, {0, 1, 3, 2}, {3, 2, 0, 1}, {1, 2, 0, 3}, {0, 3, 2, 1}});
  const auto labels = torch::tensor({1, 0, 1, 0, 1, 0});
  Classifier model(4, 8, 2, 2);
  known(*model, 0.8);
  {
    torch::NoGradGuard guard;
    for (auto& parameter : model->named_parameters())
      if (parameter.key().find("norm") != std::string::npos && parameter.key().find("weight") != std::string::npos)
        parameter.value().fill_(1);
  }
  for (const auto& parameter : model->named_parameters())
    if (parameter.key().find("layers.1") != std::string::npos)
      std::cout << parameter.key() << ' ' << parameter->sizes() << '\n';
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(5e-3).betas({0.9, 0.98}).eps(1e-9));
  for (int step = 1; step <= 60; ++step) {
    for (auto& group : optimizer.param_groups()) group.options().set_lr(5e-3 * std::min(1.0, step / 10.0));
    optimizer.zero_grad();
    const auto logits = model->forward(tokens.t());
    const auto loss = torch::nn::functional::cross_entropy(
        logits, labels, torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kMean));
    loss.backward();
    const double norm = torch::nn::utils::clip_grad_norm_(model->parameters(), 0.5);
    optimizer.step();
    if (step % 12 == 0) std::printf("step %d loss %.5f gradient %.5f\n", step, loss.item<double>(), norm);
  }
  torch::NoGradGuard no_grad;
  model->eval();
  const auto logits = model->forward(tokens.t());
  std::cout << (logits.argmax(1) == labels).sum().item<int64_t>() << " right\n" << logits << '\n';
  const auto padding = torch::tensor({{false, false, false, true}, {false, false, true, true}});
  std::cout << model->forward(tokens.slice(0, 0, 2).t(), padding) << '\n';
  return 0;
}
