// In-place operations: which are allowed, version counters, and views.
#include <torch/torch.h>

#include <iostream>

template <class F> void attempt(const char* what, F&& f) {
  try {
    f();
    std::cout << what << ": fine\n";
  } catch (const c10::Error&) {
    std::cout << what << ": refused\n";
  }
}

int main() {
  const torch::Tensor x = torch::tensor({1.0, 2.0, 3.0}, torch::requires_grad());
  torch::Tensor y = x * 2;
  std::cout << y._version();
  y.add_(1);
  y.mul_(x);
  y[0] = 5;
  std::cout << y._version() << "\n" << y << "\n";
  y.sum().backward();
  std::cout << x.grad() << "\n";

  x.mutable_grad().zero_();
  attempt("exp's result changed", [&] {
    torch::Tensor z = x.exp();
    z.add_(1);
    z.sum().backward();
  });
  attempt("sin's input changed", [&] {
    torch::Tensor z = x * 1;
    const torch::Tensor s = z.sin();
    z.zero_();
    s.sum().backward();
  });
  attempt("an input that is not saved changed", [&] {
    torch::Tensor z = x * 1;
    const torch::Tensor s = z + 1;
    z.zero_();
    s.sum().backward();
  });
  attempt("a saved weight changed", [&] {
    torch::Tensor w = torch::ones({3});
    const torch::Tensor s = x * w;
    w.add_(1);
    s.sum().backward();
  });
  attempt("by detach, which shares the version", [&] {
    torch::Tensor z = x * 1;
    const torch::Tensor s = z * z;
    z.detach().zero_();
    s.sum().backward();
  });
  attempt("by data, which does not", [&] {
    torch::Tensor z = x * 1;
    const torch::Tensor s = z * z;
    z.data().zero_();
    s.sum().backward();
  });
  attempt("a leaf", [&] { x.mul_(2); });
  attempt("a view of a leaf", [&] { x.view({3, 1}).mul_(2); });
  attempt("into integers", [&] { torch::arange(3).copy_(x); });
  std::cout << x.grad() << "\n";

  // changes through views
  x.mutable_grad().zero_();
  torch::Tensor base = x * 1;
  torch::Tensor part = base.narrow(0, 1, 2);
  part.mul_(10);
  base.add_(part.sum());
  std::cout << base << "\n" << part << "\n" << base._version() << part._version() << "\n";
  (base * base).sum().backward();
  std::cout << x.grad() << "\n";
  torch::Tensor zeros = torch::zeros({4});  // not a leaf after a tensor that requires a gradient was written to it
  zeros.slice(0, 0, 3).copy_(x);
  std::cout << zeros.requires_grad() << zeros.is_leaf() << "\n";
  x.mutable_grad().zero_();
  (zeros * torch::arange(4)).sum().backward();
  std::cout << x.grad() << "\n";
  attempt("one of several views", [&] {
    torch::Tensor z = x * 1;
    z.unbind(0)[0].mul_(2);
  });
  attempt("an expanded tensor", [&] { torch::ones({1}).expand({3}).add_(torch::ones({3})); });
  torch::Tensor filled = x * 1;
  filled.masked_fill_(filled > 2, 0).index_put_({0}, 7).clamp_(0, 5);
  x.mutable_grad().zero_();
  filled.sum().backward();
  std::cout << filled << "\n" << x.grad() << "\n";
  return 0;
}
