// User-defined losses: focal, dice, contrastive, quantile, and one with a hand-written backward.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

struct FocalLossImpl : torch::nn::Module {
  explicit FocalLossImpl(double gamma, torch::Tensor alpha = {}) : gamma(gamma) {
    if (alpha.defined()) this->alpha = register_buffer("alpha", alpha);
  }
  torch::Tensor forward(const torch::Tensor& logits, const torch::Tensor& target) {
    const auto log_p = torch::log_softmax(logits, 1).gather(1, target.unsqueeze(1)).squeeze(1);
    auto loss = -(1 - log_p.exp()).pow(gamma) * log_p;
    if (alpha.defined()) loss = loss * alpha.index_select(0, target);
    return loss.mean();
  }
  double gamma;
  torch::Tensor alpha;
};
TORCH_MODULE(FocalLoss);

/// log(cosh(x)), whose derivative is tanh(x).
struct LogCosh : torch::autograd::Function<LogCosh> {
  static torch::Tensor forward(torch::autograd::AutogradContext* ctx, torch::Tensor x, double scale) {
    ctx->save_for_backward({x});
    ctx->saved_data["scale"] = scale;
    return scale * (x.abs() + torch::log1p(torch::exp(-2 * x.abs())) - std::log(2.0));
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list grad_outputs) {
    const auto x = ctx->get_saved_variables()[0];
    return {grad_outputs[0] * ctx->saved_data["scale"].toDouble() * torch::tanh(x), torch::Tensor()};
  }
};

torch::Tensor dice(const torch::Tensor& p, const torch::Tensor& target) {
  const auto both = (p * target).sum({1, 2});
  return 1 - ((2 * both + 1) / (p.sum({1, 2}) + target.sum({1, 2}) + 1)).mean();
}

torch::Tensor info_nce(const torch::Tensor& a, const torch::Tensor& b, double temperature) {
  namespace F = torch::nn::functional;
  const auto options = F::NormalizeFuncOptions().p(2).dim(1);
  const auto similar = torch::mm(F::normalize(a, options), F::normalize(b, options).t()) / temperature;
  const auto labels = torch::arange(a.size(0));
  return (F::cross_entropy(similar, labels) + F::cross_entropy(similar.t(), labels)) / 2;
}

torch::Tensor quantile_loss(const torch::Tensor& prediction, const torch::Tensor& target, double q) {
  const auto error = target - prediction;
  return torch::max(q * error, (q - 1) * error).mean();
}

template <class Loss> void minimise(const char* name, torch::Tensor x, double rate, const Loss& loss_of) {
  x = x.clone().requires_grad_(true);
  torch::optim::SGD optimizer({x}, rate);
  std::printf("%s:", name);
  for (int step = 0; step < 5; ++step) {
    optimizer.zero_grad();
    const torch::Tensor loss = loss_of(x);
    loss.backward();
    optimizer.step();
    std::printf(" %.6f", loss.item<double>());
  }
  std::cout << '\n' << x.grad() << '\n';
}

int main() {
  const auto classes = torch::tensor({2, 0, 1, 1});
  FocalLoss focal(2.0), weighted(1.5, torch::tensor({0.25, 0.5, 1.0}, torch::kFloat64));
  minimise("focal", wave({4, 3}), 2, [&](const torch::Tensor& x) { return focal(x, classes); });
  minimise("weighted focal", wave({4, 3}), 2, [&](const torch::Tensor& x) { return weighted(x, classes); });
  const auto mask = (wave({2, 3, 4}, 1.1) > 0).to(torch::kFloat64);
  minimise("dice", wave({2, 3, 4}), 3, [&](const torch::Tensor& x) { return dice(x.sigmoid(), mask); });
  minimise("contrastive", wave({3, 4}), 0.5, [&](const torch::Tensor& x) {
    return info_nce(x, wave({3, 4}, 0.4), 0.3);
  });
  const auto target = wave({5}, 0.9);
  for (const double q : {0.1, 0.9})
    minimise("quantile", wave({5}) + 0.01, 1, [&](const torch::Tensor& x) { return quantile_loss(x, target, q); });
  minimise("log cosh", wave({5}) * 3, 1, [&](const torch::Tensor& x) { return LogCosh::apply(x - target, 0.5).sum(); });
  minimise("penalised", wave({5}), 0.2, [&](const torch::Tensor& x) {
    return (x - target).square().sum() + 0.1 * x.abs().sum() + 0.01 * torch::norm(x, 2).square();
  });
  const auto teacher = torch::softmax(wave({2, 4}, 0.3) * 3, 1);
  minimise("distilled", wave({2, 4}), 3, [&](const torch::Tensor& x) {
    return torch::kl_div(torch::log_softmax(x / 2, 1), teacher, torch::Reduction::Sum) * 4 / 2;
  });
  return 0;
}
