// Prints the gradients that elementwise functions return where no derivative exists: at kinks, at the ends of their
// domain, and at ties.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <utility>
#include <vector>

using torch::Tensor;

template <class F> void show(const char* name, const Tensor& at, F f) {
  Tensor x = at.detach().clone().set_requires_grad(true);
  f(x).sum().backward();
  std::cout << name << "\n" << x.grad().masked_fill(x.grad().isnan(), NAN) << "\n";  // hides the sign of NaN
}

int main() {
  const Tensor x = torch::tensor({-1.0, -0.0, 0.0, 0.5, 1.0, 6.0}, torch::kDouble);
  show("abs", x, [](Tensor t) { return t.abs(); });
  show("sign", x, [](Tensor t) { return t.sign() + t.round() + t.floor() + t.ceil() + t.trunc(); });
  show("frac", x, [](Tensor t) { return torch::frac(t); });
  show("relu", x, [](Tensor t) { return torch::relu(t); });
  show("relu6", x, [](Tensor t) { return torch::relu6(t); });
  show("leaky_relu", x, [](Tensor t) { return torch::leaky_relu(t, 0.1); });
  show("hardtanh", x, [](Tensor t) { return torch::hardtanh(t); });
  show("hardsigmoid", x, [](Tensor t) { return torch::hardsigmoid(t * 3); });
  show("hardswish", x, [](Tensor t) { return torch::hardswish(t * 3); });
  show("elu", x, [](Tensor t) { return torch::elu(t, 2.0); });
  show("selu", x, [](Tensor t) { return torch::selu(t); });
  show("threshold", x, [](Tensor t) { return torch::threshold(t, 0.5, 7); });
  show("softshrink", x, [](Tensor t) { return torch::softshrink(t); });
  show("hardshrink", x, [](Tensor t) { return torch::hardshrink(t); });
  show("clamp", x, [](Tensor t) { return t.clamp(0, 1); });
  show("clamp_min", x, [](Tensor t) { return t.clamp_min(0.5); });
  show("clamp by tensors", x, [](Tensor t) { return t.clamp(torch::zeros_like(t), torch::ones_like(t)); });
  show("maximum of equals", x, [](Tensor t) { return torch::maximum(t, torch::zeros_like(t)); });
  show("maximum of itself", x, [](Tensor t) { return torch::minimum(t, t) * 2; });
  show("fmax", x, [](Tensor t) { return torch::fmax(t, torch::full_like(t, NAN)); });
  show("sqrt", x, [](Tensor t) { return t.sqrt(); });
  show("rsqrt", x, [](Tensor t) { return t.rsqrt(); });
  show("log", x, [](Tensor t) { return t.log() + t.log1p(); });
  show("reciprocal", x, [](Tensor t) { return t.reciprocal(); });
  show("pow 0", x, [](Tensor t) { return t.pow(0); });
  show("pow 1", x, [](Tensor t) { return t.pow(1); });
  show("pow 0.5", x, [](Tensor t) { return (t + 1).pow(0.5); });
  show("pow by a tensor", x, [](Tensor t) { return torch::pow(t.abs(), t); });
  show("0 to the power", x, [](Tensor t) { return torch::pow(0, t); });
  show("2 to the power", x, [](Tensor t) { return torch::pow(2, t); });
  show("xlogy", x, [](Tensor t) { return torch::xlogy(t, t.abs()); });
  show("acos", x, [](Tensor t) { return t.acos(); });
  show("atanh", x, [](Tensor t) { return t.atanh(); });
  show("atan2", x, [](Tensor t) { return torch::atan2(t, torch::zeros_like(t)); });
  show("hypot", x, [](Tensor t) { return torch::hypot(t, t); });
  show("sinc", x, [](Tensor t) { return t.sinc(); });
  show("logit", x, [](Tensor t) { return t.logit(); });
  show("logit with eps", x, [](Tensor t) { return t.logit(0.2); });
  show("erfinv", x, [](Tensor t) { return t.erfinv(); });
  show("remainder", x, [](Tensor t) { return torch::remainder(t, 0.5) + torch::fmod(t, 0.5); });
  show("copysign", x, [](Tensor t) { return torch::copysign(t, -t); });
  show("heaviside, nan_to_num", x, [](Tensor t) { return torch::nan_to_num(t / 0); });
  show("where hides, but not its nan", x, [](Tensor t) { return torch::where(t > 0, t.sqrt(), torch::zeros_like(t)); });
  show("logsigmoid", x, [](Tensor t) { return torch::log_sigmoid(t * 1000); });
  show("softplus", x, [](Tensor t) { return torch::softplus(t, 1, 5); });
  show("gelu", x, [](Tensor t) { return torch::gelu(t) + torch::gelu(t, "tanh"); });
  show("silu, mish", x, [](Tensor t) { return torch::silu(t) + torch::mish(t); });
  show("digamma", x, [](Tensor t) { return torch::lgamma(t); });
  show("lerp", x, [](Tensor t) { return torch::lerp(t, t * t, 0.25) + torch::lerp(t, -t, t); });
  show("addcdiv", x, [](Tensor t) { return torch::addcdiv(t, t, t + 2, 3) + torch::addcmul(t, t, t, -1); });
  show("fmod by a tensor", x,
       [](Tensor t) { return torch::fmod(torch::full_like(t, 7), t) + torch::div(t, 0.3, "floor"); });
  return 0;
}
