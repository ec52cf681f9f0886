// Sums, products and extrema, and the shapes of their results.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

int main() {
  const torch::Tensor x = torch::arange(12, torch::kFloat64).reshape({3, 4}).sub(5).div(2);
  std::cout << x.sum() << "\n" << x.sum(0) << "\n" << x.sum(1, /*keepdim=*/true) << "\n" << x.sum({0, 1}) << "\n";
  std::cout << x.mean() << "\n"
            << x.mean(-1) << "\n"
            << x.mean({0, 1}, true) << "\n"
            << x.sum(0, false, torch::kInt64) << "\n";
  std::cout << x.prod() << "\n"
            << x.prod(1) << "\n"
            << x.max() << "\n"
            << x.min() << "\n"
            << x.argmax() << "\n"
            << x.argmin(1) << "\n";
  const auto [values, indices] = x.max(1);
  std::cout << values << "\n" << indices << "\n";
  std::cout << std::get<0>(torch::min(x, 0)) << "\n" << std::get<1>(torch::min(x, 0, true)) << "\n";
  std::cout << x.amax({0, 1}) << "\n" << x.amin(1, true) << "\n" << std::get<0>(torch::aminmax(x)) << "\n";
  std::cout << x.std() << "\n"
            << x.var(0) << "\n"
            << x.var(0, /*unbiased=*/false) << "\n"
            << x.std(1, false, true) << "\n";
  std::cout << std::get<0>(torch::var_mean(x, 1)) << "\n" << std::get<1>(torch::std_mean(x)) << "\n";
  std::cout << torch::var(x, /*dim=*/torch::IntArrayRef({0}), /*correction=*/std::make_optional<c10::Scalar>(2))
            << "\n";
  std::cout << x.norm() << "\n"
            << x.norm(1) << "\n"
            << x.norm(2, 1) << "\n"
            << x.norm(3, {0}, true) << "\n"
            << torch::dist(x, -x, 1) << "\n";
  std::cout << x.logsumexp(1) << "\n" << torch::logcumsumexp(x, 1) << "\n";
  std::cout << x.cumsum(1) << "\n"
            << x.cumprod(0) << "\n"
            << std::get<0>(x.cummax(1)) << "\n"
            << std::get<1>(x.cummin(0)) << "\n";
  std::cout << x.gt(0).all() << "\n"
            << x.gt(0).any() << "\n"
            << x.gt(-2).all(1) << "\n"
            << x.gt(2).any(0, true) << "\n";
  std::cout << x.count_nonzero() << "\n" << x.count_nonzero(torch::IntArrayRef({0})) << "\n" << x.trace() << "\n";
  std::cout << x.diff() << "\n"
            << torch::diff(x, 2, 0) << "\n"
            << torch::trapezoid(x, 0.5) << "\n"
            << torch::cumulative_trapezoid(x) << "\n";
  const torch::Tensor holes = torch::tensor({1.0, std::nan(""), 3.0});
  std::cout << holes.nansum() << "\n"
            << holes.nanmean() << "\n"
            << holes.max().isnan() << "\n"
            << holes.nan_to_num(-1) << "\n"
            << holes.nanmedian() << "\n";
  // reductions of empty tensors and of one element
  const torch::Tensor none = torch::zeros({0, 3});
  std::cout << none.sum() << "\n" << none.sum(0) << "\n" << none.prod(0) << "\n" << none.sum(1).sizes() << "\n";
  std::cout << none.any() << "\n"
            << none.all() << "\n"
            << torch::tensor(4.0).sum(0) << "\n"
            << torch::tensor(4.0).argmax() << "\n";
  std::cout << torch::tensor({true, true}).sum() << "\n" << torch::tensor({200, 100}, torch::kUInt8).sum() << "\n";
  try {
    none.max();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "nothing has no largest\n";
  }
  try {
    torch::arange(3).mean();
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "integers have no mean\n";
  }
  return 0;
}
