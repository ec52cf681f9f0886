// A network without modules: weights in a struct, and functions of torch::nn::functional with their option structs.
#include <torch/torch.h>

#include <iostream>

namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

struct Weights {
  torch::Tensor kernel = wave({4, 1, 3, 3}, 0.31).requires_grad_(), bias = wave({4}, 0.2).requires_grad_();
  torch::Tensor fc = wave({3, 36}, 0.17).mul(0.3).requires_grad_();
  torch::Tensor mean = torch::zeros({4}, torch::kFloat64), variance = torch::ones({4}, torch::kFloat64);
};

torch::Tensor forward(Weights& weights, torch::Tensor x, bool training) {
  x = F::conv2d(x, weights.kernel, F::Conv2dFuncOptions().bias(weights.bias).padding(1));
  x = F::batch_norm(x, weights.mean, weights.variance, F::BatchNormFuncOptions().training(training).momentum(0.2));
  x = F::leaky_relu(x, F::LeakyReLUFuncOptions().negative_slope(0.1).inplace(true));
  x = F::max_pool2d(x, F::MaxPool2dFuncOptions(2));
  x = F::dropout(x, F::DropoutFuncOptions().p(0.4).training(false));
  x = F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions(3));
  return F::linear(x.flatten(1), weights.fc);
}

int main() {
  Weights weights;
  const auto x = wave({2, 1, 8, 8}, 0.53), target = torch::tensor({2, 0});
  for (int step = 0; step < 4; ++step) {
    const auto loss =
        F::cross_entropy(forward(weights, x, true), target, F::CrossEntropyFuncOptions().label_smoothing(0.1));
    const auto gradients = torch::autograd::grad({loss}, {weights.kernel, weights.bias, weights.fc});
    torch::NoGradGuard guard;
    weights.kernel -= 0.1 * gradients[0];
    weights.bias -= 0.1 * gradients[1];
    weights.fc -= 0.1 * gradients[2];
    std::cout << "loss " << loss.item<double>() << ", fc " << gradients[2].norm().item<double>() << '\n';
  }
  std::cout << weights.kernel[1] << '\n'
            << weights.fc.slice(1, 0, 5) << '\n'
            << weights.mean << '\n'
            << weights.variance << '\n';
  std::cout << forward(weights, x, false).softmax(1) << '\n';

  const auto series = wave({1, 2, 10});
  std::cout << F::avg_pool1d(series, F::AvgPool1dFuncOptions(4).stride(3)) << '\n';
  std::cout << F::max_pool1d(series, F::MaxPool1dFuncOptions(3).padding(1)) << '\n';
  std::cout << F::lp_pool1d(series, F::LPPool1dFuncOptions(3, 2)) << '\n';
  std::cout << F::celu(series, F::CELUFuncOptions().alpha(0.4)) << '\n'
            << F::softshrink(series, F::SoftshrinkFuncOptions(0.3)) << '\n';
  std::cout << F::gelu(series, F::GELUFuncOptions().approximate("tanh")) << '\n' << F::hardshrink(series) << '\n';
  std::cout << F::softmin(series, F::SoftminFuncOptions(2)) << '\n'
            << F::tanhshrink(series) << '\n'
            << F::softsign(series) << '\n';
  std::cout << F::selu(series) << '\n' << F::logsigmoid(series) << '\n';
  std::cout << F::conv_transpose2d(wave({1, 1, 2, 2}), wave({1, 2, 2, 2}), F::ConvTranspose2dFuncOptions().stride(2))
            << '\n';
  return 0;
}
