// Custom autograd functions.
#include <torch/torch.h>

#include <iostream>
#include <optional>
#include <vector>

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::tensor_list;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Linear : Function<Linear> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, const torch::Tensor& weight,
                               const std::optional<torch::Tensor>& bias) {
    ctx->save_for_backward({x, weight, bias.value_or(torch::Tensor())});
    torch::Tensor y = x.mm(weight.t());
    if (bias) y += bias->unsqueeze(0).expand_as(y);
    return y;
  }
  static tensor_list backward(AutogradContext* ctx, const tensor_list& dys) {
    const auto saved = ctx->get_saved_variables();
    const torch::Tensor dy = dys[0];
    torch::Tensor db;
    if (saved[2].defined()) db = dy.sum(0);
    return {dy.mm(saved[1]), dy.t().mm(saved[0]), db};
  }
};

struct Scale : Function<Scale> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x, double factor, int64_t times, bool flip) {
    ctx->saved_data["factor"] = flip ? -factor : factor;
    ctx->saved_data["times"] = times;
    return x * (flip ? -factor : factor) * times;
  }
  static variable_list backward(AutogradContext* ctx, variable_list dys) {
    return {dys[0] * ctx->saved_data["factor"].toDouble() * ctx->saved_data["times"].toInt(), Variable(), Variable(),
            Variable()};
  }
};

struct SumAndOrder : Function<SumAndOrder> {  // the second output is a tensor of indices
  static variable_list forward(AutogradContext* ctx, const torch::Tensor& x) {
    auto [values, order] = x.sort();
    ctx->mark_non_differentiable({order});
    ctx->save_for_backward({order});
    return {values, order};
  }
  static variable_list backward(AutogradContext* ctx, variable_list dys) {
    const torch::Tensor order = ctx->get_saved_variables()[0];
    return {torch::zeros_like(dys[0]).scatter(0, order, dys[0])};
  }
};

struct DoubleInPlace : Function<DoubleInPlace> {
  static torch::Tensor forward(AutogradContext* ctx, torch::Tensor x) {
    x.mul_(2);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list dys) { return {dys[0] * 2}; }
};

struct Sides : Function<Sides> {  // prints which outputs got a gradient
  static variable_list forward(AutogradContext* ctx, const torch::Tensor& x) {
    ctx->set_materialize_grads(false);
    return {x * 2, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list dys) {
    std::cout << "came: " << dys[0].defined() << dys[1].defined() << "\n";
    if (!dys[0].defined() && !dys[1].defined()) return {Variable()};
    torch::Tensor dx;
    if (dys[0].defined()) dx = dys[0] * 2;
    if (dys[1].defined()) dx = dx.defined() ? dx + dys[1] * 3 : dys[1] * 3;
    return {dx};
  }
};

struct Cube : Function<Cube> {  // its backward is differentiable
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& x) {
    ctx->save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list dys) {
    return {3 * ctx->get_saved_variables()[0].pow(2) * dys[0]};
  }
};

int main() {
  const torch::Tensor x = torch::arange(6, torch::kFloat64).reshape({2, 3}).requires_grad_();
  const torch::Tensor w = torch::arange(12, torch::kFloat64).sub(5).div(4).reshape({4, 3}).requires_grad_();
  const torch::Tensor b = torch::ones({4}, torch::kFloat64).requires_grad_();
  torch::Tensor y = Linear::apply(x, w, b);
  y.pow(2).sum().backward();
  std::cout << y << "\n" << x.grad() << "\n" << w.grad() << "\n" << b.grad() << "\n";
  x.mutable_grad().reset();
  Linear::apply(x, w.detach(), std::nullopt).sum().backward();
  std::cout << x.grad() << "\n" << Linear::apply(x.detach(), w.detach(), b.detach()).requires_grad() << "\n";

  torch::Tensor v = torch::tensor({3.0, 1.0, 2.0}, torch::requires_grad());
  Scale::apply(v, 0.5, 3, true).sum().backward();
  std::cout << v.grad() << "\n";
  const auto outputs = SumAndOrder::apply(v);
  std::cout << outputs[0] << "\n"
            << outputs[1] << "\n"
            << outputs[0].requires_grad() << outputs[1].requires_grad() << "\n";
  v.mutable_grad().zero_();
  (outputs[0] * torch::tensor({1.0, 10.0, 100.0})).sum().backward();
  std::cout << v.grad() << "\n";
  v.mutable_grad().zero_();
  torch::Tensor z = v * 1;
  const torch::Tensor same = DoubleInPlace::apply(z);
  std::cout << same << "\n" << same.is_same(z) << z._version() << z.requires_grad() << "\n";
  z.sum().backward();
  std::cout << v.grad() << "\n";
  v.mutable_grad().zero_();
  Sides::apply(v)[1].sum().backward();
  Sides::apply(v)[0].sum().backward();
  const auto sides = Sides::apply(v);
  (sides[0] + sides[1]).sum().backward();
  std::cout << v.grad() << "\n";
  const torch::Tensor first = torch::autograd::grad({Cube::apply(v).sum()}, {v}, {}, true, true)[0];
  std::cout << first << "\n" << torch::autograd::grad({first.sum()}, {v})[0] << "\n";
  torch::NoGradGuard guard;
  std::cout << Cube::apply(v).requires_grad() << "\n";
  return 0;
}
