// Quantiles, histograms, modes and covariances.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

int main() {
  const torch::Tensor x = torch::tensor({4.0, 1.0, 3.0, 3.0, 8.0, 6.0, 2.0, 3.0}, torch::kFloat64);
  std::cout << torch::quantile(x, 0.5) << "\n"
            << torch::quantile(x, torch::tensor({0.25, 0.75}, torch::kFloat64)) << "\n";
  for (const char* way : {"linear", "lower", "higher", "midpoint", "nearest"})
    std::cout << way << " " << torch::quantile(x, 0.3, std::nullopt, false, way) << "\n";
  const torch::Tensor table = x.reshape({2, 4});
  std::cout << torch::quantile(table, 0.25, 1) << "\n" << torch::quantile(table, 0.25, 0, /*keepdim=*/true) << "\n";
  std::cout << torch::quantile(table, torch::tensor({0.0, 0.5, 1.0}, torch::kFloat64), 1).sizes() << "\n";
  std::cout << torch::nanquantile(torch::tensor({1.0, std::nan(""), 3.0}), 0.5) << "\n"
            << torch::quantile(torch::tensor({1.0, std::nan("")}), 0.5) << "\n";
  std::cout << torch::histc(x, 4) << "\n" << torch::histc(x, 5, 0, 10) << "\n" << torch::histc(x, 3, 2, 4) << "\n";
  const auto [counts, edges] = torch::histogram(x, 4);
  std::cout << counts << "\n" << edges << "\n";
  std::cout << std::get<0>(torch::histogram(x, torch::tensor({0.0, 3.0, 5.0, 10.0}, torch::kFloat64))) << "\n";
  const auto [most, at] = torch::mode(x);
  std::cout << most << "\n" << at << "\n" << std::get<0>(torch::mode(table, 1, true)) << "\n";
  const torch::Tensor both = torch::stack({x, x * 2 + torch::arange(8)});
  std::cout << torch::cov(both) << "\n" << torch::cov(both, /*correction=*/0) << "\n" << torch::cov(x) << "\n";
  std::cout << torch::cov(both, 1, torch::tensor({1, 2, 1, 1, 1, 1, 1, 1})) << "\n";
  std::cout << torch::corrcoef(both) << "\n" << torch::corrcoef(x) << "\n";
  std::cout << torch::cdist(table, table + 1) << "\n" << torch::pdist(table.t()) << "\n";
  std::cout << torch::softmax(x, 0).sum().item<double>() << "\n" << torch::log_softmax(table, 1) << "\n";
  std::cout << torch::renorm(table, 2, 0, 5) << "\n" << torch::cosine_similarity(table, table + 1) << "\n";
  std::cout << torch::pairwise_distance(table, table + 2) << "\n" << torch::special::xlogy(table, 2) << "\n";
  std::cout << torch::special::entr(torch::tensor({0.0, 0.5, 1.0})) << "\n"
            << torch::special::expit(torch::tensor({0.0, 1.0})) << "\n";
  std::cout << torch::logit(torch::tensor({0.25, 0.5}, torch::kFloat64)) << "\n"
            << torch::special::ndtr(torch::zeros({2})) << "\n";
  std::cout << torch::lgamma(torch::tensor({3.0, 4.5}, torch::kFloat64)) << "\n"
            << torch::erf(torch::tensor({0.5}, torch::kFloat64)) << "\n";
  return 0;
}
