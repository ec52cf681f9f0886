// Defines a custom autograd Function, checks its gradients against finite differences, and trains through it.
#include <tandem/tandem.h>

#include <iostream>

using namespace tandem;
using autograd::AutogradContext;
using autograd::variable_list;

/// y = x / sqrt(1 + (s * x)^2): close to x near 0, and |y| is never larger than 1 / s.
struct SoftClip : autograd::Function<SoftClip> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double s) {
    ctx->save_for_backward({x});
    ctx->saved_data["s"] = s;
    return x / (1 + (x * s).square()).sqrt();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor x = ctx->get_saved_variables()[0];
    const double s = ctx->saved_data["s"].toDouble();
    return {grads[0] * (1 + (x * s).square()).pow(-1.5), Tensor()};  // no gradient for the number s
  }
};

int main() {
  manual_seed(1);

  // Throw unless the first and second derivatives agree with finite differences.
  const auto f = [](const variable_list& in) -> variable_list { return {SoftClip::apply(in[0], 0.5)}; };
  const Tensor points = randn({8}, kFloat64).requires_grad_();
  autograd::gradcheck(f, {points});
  autograd::gradgradcheck(f, {points});
  std::cout << "gradients agree with finite differences\n";

  // Fit a line to data with outliers. Clipping bounds each error by 1 / s, so that the outliers have little influence.
  const Tensor x = randn({256, 1});
  Tensor y = x * 2;
  y.narrow(0, 0, 10).add_(100);
  Tensor slope = zeros({1}, requires_grad());
  optim::SGD optimizer({slope}, optim::SGDOptions(0.5));
  for (int step = 0; step < 200; ++step) {
    optimizer.zero_grad();
    const Tensor error = SoftClip::apply(x * slope - y, 2.0);
    error.square().mean().backward();
    optimizer.step();
  }
  std::cout << "slope " << slope.item<float>() << ", of 2 without the outliers\n";
}
