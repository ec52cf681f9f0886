// Sorting, searching and counting.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

int main() {
  const torch::Tensor x = torch::tensor({{3.5, -1.0, 7.25, 0.0}, {2.0, 9.0, -4.0, 1.0}}, torch::kFloat64);
  const auto [sorted, order] = x.sort();
  std::cout << sorted << "\n" << order << "\n" << std::get<0>(x.sort(0, /*descending=*/true)) << "\n";
  std::cout << x.argsort(1, true) << "\n" << std::get<0>(torch::msort(x).sort()) << "\n";
  const torch::Tensor ties = torch::tensor({2, 1, 2, 1, 0, 2});
  std::cout << std::get<1>(torch::sort(ties, /*stable=*/true, 0, false)) << "\n"
            << std::get<1>(torch::sort(ties, /*stable=*/true, 0, true)) << "\n";
  const auto [top, where] = x.topk(2);
  std::cout << top << "\n" << where << "\n";
  std::cout << std::get<0>(x.topk(3, 1, /*largest=*/false)) << "\n" << std::get<1>(torch::topk(x, 1, 0)) << "\n";
  std::cout << std::get<0>(x.kthvalue(2)) << "\n" << std::get<1>(x.kthvalue(1, 0, true)) << "\n";
  std::cout << x.median() << "\n" << std::get<0>(x.median(1)) << "\n" << std::get<1>(x.median(1)) << "\n";
  const auto [unique, inverse, counts] = torch::_unique2(ties, true, true, true);
  std::cout << unique << "\n" << inverse << "\n" << counts << "\n";
  const auto [runs, run_of, lengths] = torch::unique_consecutive(torch::tensor({1, 1, 2, 2, 2, 1}), true, true);
  std::cout << runs << "\n" << run_of << "\n" << lengths << "\n";
  std::cout << std::get<0>(torch::unique_dim(torch::tensor({{1, 2}, {0, 5}, {1, 2}}), 0)) << "\n";
  const torch::Tensor edges = torch::tensor({1.0, 3.0, 5.0, 7.0}), points = torch::tensor({{0.0, 3.0}, {5.5, 9.0}});
  std::cout << torch::searchsorted(edges, points) << "\n"
            << torch::searchsorted(edges, points, false, /*right=*/true) << "\n";
  std::cout << torch::searchsorted(edges, 3.0) << "\n" << torch::bucketize(points, edges, /*out_int32=*/true) << "\n";
  std::cout << torch::bincount(ties) << "\n" << torch::bincount(ties, torch::ones({6}, torch::kFloat64) / 2, 5) << "\n";
  std::cout << torch::isin(ties, torch::tensor({0, 2})) << "\n"
            << torch::isin(ties, torch::tensor({0, 2}), false, true) << "\n";
  std::cout << torch::argwhere(x > 2) << "\n";
  std::cout << torch::isclose(x, x + 1e-9) << "\n" << torch::allclose(x, x + 1) << torch::equal(x, x.clone()) << "\n";
  std::cout << torch::tensor({INFINITY, NAN, 1.0f}).isinf() << "\n"
            << torch::isfinite(torch::tensor({INFINITY, NAN, 1.0f})) << "\n";
  const torch::Tensor nan_first = torch::tensor({std::nan(""), 1.0, 3.0});
  std::cout << std::get<1>(nan_first.sort()) << "\n"
            << nan_first.argmax() << "\n"
            << std::get<0>(nan_first.topk(1)) << "\n";
  return 0;
}
