// Gradients through combinations of views and in-place changes.
#include <torch/torch.h>

#include <iostream>

using torch::Tensor;
using torch::indexing::Slice;

int main() {
  const auto leaf = [] { return torch::arange(1, 7, torch::kDouble).view({2, 3}).clone().requires_grad_(); };
  const Tensor weights = torch::tensor({{1.0, 10.0, 100.0}, {-1.0, -10.0, -100.0}}, torch::kDouble);
  {  // changing a view changes its base, and vice versa
    Tensor x = leaf(), y = x * 1, row = y[0];
    row.mul_(3);
    y.select(1, 2).add_(x.select(1, 0));
    std::cout << y << "\n"
              << row << "\n"
              << row.grad_fn().get()->num_outputs() << y._version() << row._version() << "\n";
    (y * weights).sum().backward();
    std::cout << x.grad() << "\n";
  }
  {  // a transposed view of a view, and the gradient of the view itself
    Tensor x = leaf(), y = x * 2, part = y.t().narrow(0, 1, 2);
    part[1].pow_(2);
    part.retain_grad();
    std::cout << part << "\n";
    ((y * weights).sum() + part.sum()).backward();
    std::cout << x.grad() << "\n" << part.grad() << "\n";
  }
  {  // copy_, fill_, zero_ and index assignment cut the history of the elements that they overwrite
    Tensor x = leaf(), y = x * 1;
    y.index_put_({0}, x[1]);
    y.index_put_({Slice(), 1}, 0);
    y[1][2] = 5;
    y[1][0] = x[0][0] * x[0][1];
    (y * weights).sum().backward();
    std::cout << y << "\n" << x.grad() << "\n";
  }
  {  // a base gets a history when a tensor that requires a gradient is written to it
    Tensor x = leaf(), base = torch::zeros({3, 3}, torch::kDouble), diagonal = base.diagonal();
    std::cout << base.requires_grad() << diagonal.requires_grad();
    diagonal.copy_(x[1]);
    std::cout << base.requires_grad() << diagonal.requires_grad() << base.is_leaf() << "\n";
    base.matmul(base).sum().backward();
    std::cout << x.grad() << "\n";
  }
  {  // in-place cumulative sums
    Tensor x = leaf(), sums = torch::zeros({3}, torch::kDouble);
    for (int64_t i = 0; i < x.size(0); ++i) {
      sums += x[i] * (i + 1);
      sums = sums.clone();
      sums *= x[i].detach();
    }
    sums.sum().backward();
    std::cout << sums << "\n" << x.grad() << "\n";
  }
  {  // detach, data and no_grad results share memory, but not gradients
    Tensor x = leaf(), y = x * 2, cut = y.detach();
    cut[0][0] = 100;
    std::cout << y[0][0].item<double>() << cut.requires_grad() << cut._version() << y._version() << "\n";
    {
      torch::NoGradGuard guard;
      y.view({6}).slice(0, 4).zero_();
    }
    y.sum().backward();
    std::cout << x.grad() << "\n";
  }
  {  // expand and unbind
    Tensor x = leaf(), wide = x.unsqueeze(0).expand({2, 2, 3});
    const auto parts = wide.unbind(2);
    (parts[0].pow(2).sum() + parts[2].sum() * 3).backward();
    std::cout << x.grad() << "\n";
    x.mutable_grad() = Tensor();
    const auto split = x.split({1, 2}, 1);
    (split[0] * split[1]).sum().backward();
    std::cout << x.grad() << "\n";
    x.mutable_grad() = Tensor();
    x.unfold(1, 2, 1).pow(2).sum().backward();
    std::cout << x.grad() << "\n";
    x.mutable_grad() = Tensor();
    x.as_strided({2, 2}, {1, 2}, 1).mul(torch::tensor({{1.0, 2.0}, {3.0, 4.0}}, torch::kDouble)).sum().backward();
    std::cout << x.grad() << "\n";
  }
  {  // in-place activations
    Tensor x = leaf(), y = x - 3.5;
    y.mul_(2);
    torch::sigmoid_(y);
    y.sum().backward();
    std::cout << x.grad() << "\n";
    x.mutable_grad() = Tensor();
    Tensor z = x / 2;
    z.clamp_(1, 2).neg_().mul_(0.5).exp_();
    z.prod().backward();
    std::cout << x.grad() << "\n";
  }
  {  // swapping two variables, and resizing in place
    Tensor x = leaf(), y = x * 1;
    y.t_().unsqueeze_(0).squeeze_().transpose_(0, 1);
    std::cout << y.sizes() << y.is_leaf() << "\n";
    (y * weights).sum().backward();
    std::cout << x.grad() << "\n";
  }
  return 0;
}
