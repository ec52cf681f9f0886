// A tour of automatic differentiation, as a LibTorch user would write it. The program checks every result.
#include <torch/torch.h>

#include <iostream>

using namespace torch::autograd;

void expect(const char* what, const torch::Tensor& got, const torch::Tensor& wanted) {
  std::cout << what << ":\n" << got << "\n";
  TORCH_CHECK(torch::allclose(got, wanted), what, " should be ", wanted);
}

void basics() {
  auto x = torch::ones({2, 2}, torch::requires_grad());
  auto y = x + 2;
  std::cout << y << std::endl;
  std::cout << y.grad_fn()->name() << std::endl;
  auto z = y * y * 3;
  auto out = z.mean();
  std::cout << z.grad_fn()->name() << " then " << out.grad_fn()->name() << std::endl;
  TORCH_CHECK(!x.grad_fn() && x.is_leaf() && !out.is_leaf());
  out.backward();
  expect("d(out)/dx", x.grad(), torch::full({2, 2}, 4.5));

  auto a = torch::randn({2, 2});
  a = ((a * 3) / (a - 1));
  std::cout << std::boolalpha << a.requires_grad() << std::endl;
  a.requires_grad_(true);
  auto b = (a * a).sum();
  TORCH_CHECK(a.requires_grad() && b.requires_grad());
}

void vector_jacobian_product() {
  auto x = torch::tensor({1.0, -2.0, 0.5}, torch::TensorOptions().dtype(torch::kFloat).requires_grad(true));
  auto y = x * 2;
  while (y.norm().item<double>() < 1000) y = y * 2;
  const double factor = (y / x)[0].item<double>();
  auto v = torch::tensor({0.1, 1.0, 0.0001}, torch::kFloat);
  y.backward(v);
  expect("vector-Jacobian product", x.grad(), v * factor);

  std::cout << x.requires_grad() << x.pow(2).requires_grad();
  {
    torch::NoGradGuard no_grad;
    TORCH_CHECK(!x.pow(2).requires_grad());
  }
  auto detached = x.detach();
  TORCH_CHECK(!detached.requires_grad() && x.eq(detached).all().item<bool>());
}

/// Gradient penalty of WGAN-GP, which needs a second derivative.
void gradient_penalty() {
  torch::manual_seed(0);
  auto model = torch::nn::Linear(4, 3);
  auto input = torch::randn({3, 4}).requires_grad_(true);
  auto output = model(input);
  auto target = torch::randn({3, 3});
  auto loss = torch::nn::MSELoss()(output, target);

  auto grad_output = torch::ones_like(output);
  auto gradient = torch::autograd::grad({output}, {input}, /*grad_outputs=*/{grad_output}, /*retain_graph=*/true,
                                        /*create_graph=*/true)[0];
  auto penalty = torch::pow((gradient.norm(2, /*dim=*/1) - 1), 2).mean();
  auto combined = loss + penalty;
  combined.backward();

  // d output / d input is the weight summed over outputs. It is the same for every row.
  auto row = model->weight.detach().sum(0);
  expect("gradient", gradient, row.expand({3, 4}));
  auto length = row.norm();
  auto residual = (output - target).detach() * 2 / 9;
  auto by_loss = residual.t().mm(input.detach());
  auto by_penalty = (2 * (length - 1) / length * row).expand({3, 4});
  TORCH_CHECK(torch::allclose(model->weight.grad(), by_loss + by_penalty, 1e-4, 1e-5), "the penalty's gradient");
  expect("the loss's share", input.grad(), residual.mm(model->weight.detach()));
}

// y = x W^T + b
class LinearFunction : public Function<LinearFunction> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor input, torch::Tensor weight,
                               torch::Tensor bias = torch::Tensor()) {
    ctx->save_for_backward({input, weight, bias});
    auto output = input.mm(weight.t());
    if (bias.defined()) output += bias.unsqueeze(0).expand_as(output);
    return output;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    auto saved = ctx->get_saved_variables();
    auto input = saved[0];
    auto weight = saved[1];
    auto bias = saved[2];
    auto grad_output = grad_outputs[0];
    auto grad_bias = torch::Tensor();
    if (bias.defined()) grad_bias = grad_output.sum(0);
    return {grad_output.mm(weight), grad_output.t().mm(input), grad_bias};
  }
};

class MulConstant : public Function<MulConstant> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor tensor, double constant) {
    ctx->saved_data["constant"] = constant;
    ctx->saved_data["times"] = 1;
    return tensor * constant;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_outputs) {
    TORCH_CHECK(ctx->saved_data["times"].toInt() == 1);
    return {grad_outputs[0] * ctx->saved_data["constant"].toDouble(), torch::Tensor()};
  }
};

// A function with two outputs, of which only one may get a gradient.
struct SumAndDifference : public Function<SumAndDifference> {
  static variable_list forward(AutogradContext*, Variable a, Variable b) { return {a + b, a - b}; }
  static variable_list backward(AutogradContext*, variable_list grads) {
    return {grads[0] + grads[1], grads[0] - grads[1]};
  }
};

void custom_functions() {
  auto x = torch::randn({2, 3}).requires_grad_();
  auto weight = torch::randn({4, 3}).requires_grad_();
  auto y = LinearFunction::apply(x, weight);
  y.sum().backward();
  expect("custom linear, x", x.grad(), weight.detach().sum(0).expand({2, 3}));
  expect("custom linear, weight", weight.grad(), x.detach().sum(0).expand({4, 3}));

  auto m = torch::randn({2}).requires_grad_();
  MulConstant::apply(m, 5.5).sum().backward();
  expect("custom constant", m.grad(), torch::full({2}, 5.5));

  auto a = torch::randn({2}, torch::requires_grad()), b = torch::randn({2}, torch::requires_grad());
  auto both = SumAndDifference::apply(a, b);
  (both[0] * 2 + both[1]).sum().backward();
  expect("first of two", a.grad(), torch::full({2}, 3.0));
  expect("second of two", b.grad(), torch::ones({2}));
}

void hooks_and_inner_gradients() {
  auto v = torch::tensor({0., 0., 0.}, torch::requires_grad());
  auto handle = v.register_hook([](torch::Tensor grad) { return grad * 2; });
  v.backward(torch::tensor({1., 2., 3.}));
  expect("hooked", v.grad(), torch::tensor({2., 4., 6.}));
  v.remove_hook(handle);
  v.mutable_grad().zero_();
  v.backward(torch::tensor({1., 2., 3.}));
  expect("hook removed", v.grad(), torch::tensor({1., 2., 3.}));

  auto x = torch::arange(3, torch::kFloat).requires_grad_();
  auto h = x * 3;
  h.retain_grad();
  torch::Tensor seen;
  h.register_hook([&seen](torch::Tensor grad) { seen = grad; });
  (h * h).sum().backward();
  expect("inner gradient", h.grad(), 2 * h.detach());
  expect("seen by a hook", seen, h.grad());

  // Computes the third derivative of x^4 by three calls of grad.
  auto t = torch::tensor(2.0, torch::dtype(torch::kDouble).requires_grad(true));
  auto d = t.pow(4);
  for (int order = 1; order <= 3; ++order)
    d = torch::autograd::grad({d}, {t}, /*grad_outputs=*/{}, /*retain_graph=*/true, /*create_graph=*/true)[0];
  expect("third derivative", d, torch::tensor(48.0, torch::kDouble));
  auto unused = torch::ones({1}, torch::requires_grad());
  auto none = torch::autograd::grad({t * 2}, {t, unused}, {}, std::nullopt, false, /*allow_unused=*/true);
  TORCH_CHECK(none[0].defined() && !none[1].defined());
}

int main() {
  basics();
  vector_jacobian_product();
  gradient_penalty();
  custom_functions();
  hooks_and_inner_gradients();
  std::cout << "done" << std::endl;
}
