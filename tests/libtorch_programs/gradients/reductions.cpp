// Gradients of sums, products, extrema, norms and scans, including ties and zeros.
#include <torch/torch.h>

#include <functional>
#include <iostream>

using namespace torch;

/// Prints the gradient of the weighted sum of f(x), where no two elements have the same weight.
void show(const char* name, const Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  Tensor leaf = x.clone().requires_grad_();
  Tensor y = f(leaf);
  Tensor weights = at::arange(1, y.numel() + 1, y.options().requires_grad(false)).view_as(y);
  (y * weights).sum().backward();
  std::cout << name << " " << y.sizes() << "\n" << leaf.grad() << std::endl;
}

int main() {
  const Tensor x = torch::tensor({{0.5, -1.0, 2.0}, {3.0, 3.0, -0.25}}, kDouble);
  const Tensor zeros = torch::tensor({{2.0, 0.0, 3.0}, {0.0, 4.0, 0.0}}, kDouble);
  show("sum", x, [](const Tensor& t) { return t.sum(1); });
  show("mean", x, [](const Tensor& t) { return t.mean({0}, /*keepdim=*/true); });
  show("prod", x, [](const Tensor& t) { return t.prod(); });
  show("prod of zeros", zeros, [](const Tensor& t) { return t.prod(1); });
  show("prod of one zero", zeros[0], [](const Tensor& t) { return at::prod(t); });
  show("cumprod", zeros, [](const Tensor& t) { return t.cumprod(1); });
  show("cumsum", x, [](const Tensor& t) { return at::cumsum(t, 0); });
  show("max of all", x, [](const Tensor& t) { return t.max(); });
  show("max", x, [](const Tensor& t) { return std::get<0>(t.max(1)); });
  show("amax", x, [](const Tensor& t) { return t.amax(1); });
  show("amin", zeros, [](const Tensor& t) { return at::amin(t, {0, 1}); });
  show("aminmax", x, [](const Tensor& t) { return std::get<1>(at::aminmax(t, 1)); });
  show("median", x, [](const Tensor& t) { return t.median(); });
  show("median of rows", x, [](const Tensor& t) { return std::get<0>(t.median(1)); });
  show("kthvalue", x, [](const Tensor& t) { return std::get<0>(t.kthvalue(2, 1)); });
  show("mode", x, [](const Tensor& t) { return std::get<0>(t.mode(1)); });
  show("quantile", x, [](const Tensor& t) { return at::quantile(t, 0.3, 1); });
  show("var", x, [](const Tensor& t) { return t.var(1); });
  show("std", x, [](const Tensor& t) { return t.std(0, /*unbiased=*/false); });
  show("std of a constant", at::ones({3}, kDouble), [](const Tensor& t) { return t.std(); });
  show("var_mean", x, [](const Tensor& t) {
    auto [v, m] = at::var_mean(t, 1);
    return v * m;
  });
  show("norm", x, [](const Tensor& t) { return t.norm(); });
  show("norm of zero", at::zeros({2, 2}, kDouble), [](const Tensor& t) { return t.norm(2, 1); });
  show("norm 1", zeros, [](const Tensor& t) { return t.norm(1); });
  show("norm 3", x, [](const Tensor& t) { return t.norm(3, {1}); });
  show("norm inf", x, [](const Tensor& t) { return linalg_vector_norm(t, INFINITY, {1}); });
  show("dist", x, [&](const Tensor& t) { return at::dist(t, zeros, 2); });
  show("logsumexp", x, [](const Tensor& t) { return t.logsumexp({0, 1}); });
  show("logcumsumexp", x, [](const Tensor& t) { return t.logcumsumexp(1); });
  show("softmax", x, [](const Tensor& t) { return t.softmax(1); });
  show("log_softmax", x, [](const Tensor& t) { return at::log_softmax(t, 0); });
  show("cummax", x, [](const Tensor& t) { return std::get<0>(t.cummax(1)); });
  show("trace", x, [](const Tensor& t) { return t.trace(); });
  show("diff", x, [](const Tensor& t) { return t.diff(); });
  show("nansum", x.masked_fill(x == 2, NAN), [](const Tensor& t) { return t.nansum(); });
  show("renorm", x, [](const Tensor& t) { return t.renorm(2, 0, 1.5); });
  return 0;
}
