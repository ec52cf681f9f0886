// Custom functions that compute gradients inside, save numbers of all kinds, and return only some gradients.
#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

using namespace torch::autograd;

// y = f(f(x)). Saves only x; backward recomputes the rest.
class Recomputed : public Function<Recomputed> {
 public:
  static torch::Tensor f(const torch::Tensor& x) { return torch::tanh(x * x) + x; }
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    std::cout << "forward records: " << torch::GradMode::is_enabled() << "\n";
    ctx->save_for_backward({x});
    return f(f(x));
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_output) {
    torch::AutoGradMode enable(true);
    auto x = ctx->get_saved_variables()[0].detach().requires_grad_(true);
    auto y = f(f(x));
    return {torch::autograd::grad({y}, {x}, {grad_output[0]})[0]};
  }
};

// a function of two tensors that checks which gradients are needed
class Weighted : public Function<Weighted> {
 public:
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor a, torch::Tensor b, int64_t power,
                               std::string label) {
    ctx->save_for_backward({a, b});
    ctx->saved_data["power"] = power;
    ctx->saved_data["label"] = label;
    ctx->saved_data["scales"] = std::vector<double>{1.0, 0.5};
    ctx->saved_data["mask"] = a > 0;
    ctx->saved_data["loud"] = true;
    return a.pow(power) * b;
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grad_output) {
    auto saved = ctx->get_saved_variables();
    auto a = saved[0], b = saved[1];
    const auto power = ctx->saved_data["power"].toInt();
    const auto scales = ctx->saved_data["scales"].toDoubleVector();
    std::cout << ctx->saved_data["label"].toStringRef() << " needs " << ctx->needs_input_grad(0)
              << ctx->needs_input_grad(1) << " " << scales[1] << ctx->saved_data["loud"].toBool() << " "
              << ctx->saved_data["mask"].toTensor().sum().item<int>() << "\n";
    torch::Tensor da, db;
    if (ctx->needs_input_grad(0)) da = grad_output[0] * power * a.pow(power - 1) * b;
    if (ctx->needs_input_grad(1)) db = grad_output[0] * a.pow(power);
    return {da, db, torch::Tensor(), torch::Tensor()};
  }
};

// straight-through estimator: rounds, and passes the gradient unchanged
class Round : public Function<Round> {
 public:
  static torch::Tensor forward(AutogradContext*, torch::Tensor x) { return torch::round(x); }
  static tensor_list backward(AutogradContext*, tensor_list grads) { return {grads[0]}; }
};

// saves its result for backward, and returns a view of its argument as second output
class Softplus : public Function<Softplus> {
 public:
  static tensor_list forward(AutogradContext* ctx, torch::Tensor x) {
    auto y = torch::log1p(torch::exp(x));
    ctx->save_for_backward({y});
    return {y, torch::sigmoid(x)};
  }
  static tensor_list backward(AutogradContext* ctx, tensor_list grads) {
    auto slope = 1 - torch::exp(-ctx->get_saved_variables()[0]);
    return {grads[0] * slope + grads[1] * slope * (1 - slope)};
  }
};

int main() {
  auto x = torch::tensor({-0.5, 0.25, 1.5}, torch::dtype(torch::kDouble).requires_grad(true));
  auto y = Recomputed::apply(x);
  y.sum().backward();
  auto kept = x.grad().clone();
  std::cout << y << "\n" << kept << "\n";
  auto plain = torch::autograd::grad({Recomputed::f(Recomputed::f(x)).sum()}, {x})[0];
  std::cout << torch::allclose(kept, plain) << "\n";

  auto w = torch::full({3}, 2.0, torch::dtype(torch::kDouble).requires_grad(true));
  for (const auto& [a, b] :
       std::vector<std::pair<torch::Tensor, torch::Tensor>>{{x, w}, {x, w.detach()}, {x.detach(), w}}) {
    x.mutable_grad() = w.mutable_grad() = torch::Tensor();
    Weighted::apply(a, b, 3, "cubed").sum().backward();
    if (x.grad().defined()) std::cout << x.grad() << "\n";
    if (w.grad().defined()) std::cout << w.grad() << "\n";
  }
  std::cout << torch::autograd::grad({(Round::apply(x * 4) * w).sum()}, {x})[0] << "\n";
  auto two = Softplus::apply(x);
  std::cout << two[0] << "\n" << two[1] << "\n" << torch::autograd::grad({two[0].sum() + two[1].sum()}, {x})[0] << "\n";
  auto only = Softplus::apply(x);
  std::cout << torch::autograd::grad({only[1].dot(w)}, {x, w})[0] << "\n";
  // second derivatives through backward functions
  auto first = torch::autograd::grad({Weighted::apply(x, w, 4, "fourth").sum()}, {x}, {}, true, true)[0];
  std::cout << torch::autograd::grad({first.sum()}, {x, w})[1] << "\n";
  std::cout << (y.grad_fn() != nullptr) << y.grad_fn()->num_inputs() << two[0].grad_fn()->num_outputs()
            << (two[0].grad_fn() == two[1].grad_fn()) << two[1].output_nr() << "\n";
  return 0;
}
