// Small tensor algorithms: game of life, k-means, power iteration, Floyd-Warshall, a Fourier sum, primes.
#include <torch/torch.h>

#include <cmath>
#include <iostream>

using namespace torch::indexing;

torch::Tensor life(const torch::Tensor& cells) {
  torch::Tensor neighbours = torch::zeros_like(cells);
  for (int di : {-1, 0, 1})
    for (int dj : {-1, 0, 1})
      if (di || dj) neighbours += cells.roll({di, dj}, {0, 1});
  return ((neighbours == 3) | ((cells == 1) & (neighbours == 2))).to(cells.dtype());
}

int main() {
  torch::Tensor glider = torch::zeros({6, 6}, torch::kInt32);
  glider.index_put_({torch::tensor({0, 1, 2, 2, 2}), torch::tensor({1, 2, 0, 1, 2})}, 1);
  for (int step = 0; step < 8; ++step) glider = life(glider);
  std::cout << glider << "\n";

  // two clusters of points
  torch::Tensor corner =
      torch::stack({torch::arange(5, torch::kFloat64).remainder(2), torch::arange(5, torch::kFloat64).div(5)}, 1);
  torch::Tensor points = torch::cat({corner, corner + 6}), centres = points.index({Slice(None, 2)}).clone(), cluster;
  for (int round = 0; round < 10; ++round) {
    cluster = torch::cdist(points, centres).argmin(1);
    for (int64_t k = 0; k < centres.size(0); ++k) centres[k] = points.index({cluster == k}).mean(0);
  }
  std::cout << centres << "\n" << cluster << "\n" << cluster.bincount() << "\n";

  // the largest eigenvalue
  torch::Tensor a = torch::tensor({{2.0, 1.0, 0.0}, {1.0, 3.0, 1.0}, {0.0, 1.0, 4.0}}, torch::kDouble),
                v = torch::ones({3}, torch::kDouble);
  for (int i = 0; i < 200; ++i) v = torch::mv(a, v) / torch::mv(a, v).norm();
  std::cout << v.dot(a.mv(v)).item<double>() << "\n"
            << torch::linalg_eigvalsh(a).max().item<double>() << "\n"
            << v << "\n";

  // shortest paths
  const double far = INFINITY;
  torch::Tensor d =
      torch::tensor({0.0, 3.0, far, 7.0, 8.0, 0.0, 2.0, far, 5.0, far, 0.0, 1.0, 2.0, far, far, 0.0}, torch::kDouble)
          .view({4, 4});
  for (int64_t k = 0; k < 4; ++k)
    d = torch::minimum(d, d.index({Slice(), Slice(k, k + 1)}) + d.index({k}).unsqueeze(0));
  std::cout << d << "\n";

  // the sieve of Eratosthenes
  torch::Tensor prime = torch::ones({50}, torch::kBool);
  prime.index_put_({Slice(0, 2)}, false);
  for (int64_t i = 2; i * i < prime.size(0); ++i)
    if (prime[i].item<bool>()) prime.index_put_({Slice(i * i, None, i)}, false);
  std::cout << prime.nonzero().squeeze(1) << "\n";

  // a discrete Fourier transform by its matrix of cosines and sines, and its inverse
  const int64_t n = 8;
  torch::Tensor t = torch::arange(n, torch::kDouble), angle = torch::outer(t, t) * (2 * M_PI / n),
                signal = torch::sin(t * M_PI / 2) + 0.5;
  torch::Tensor real = torch::cos(angle).mv(signal), imaginary = -torch::sin(angle).mv(signal);
  std::cout << real.round(/*decimals=*/6).add(0.0) << "\n" << imaginary.round(6).add(0.0) << "\n";
  std::cout << torch::allclose((torch::cos(angle).mv(real) - torch::sin(angle).mv(imaginary)) / n, signal) << "\n";

  // Sinkhorn's iteration, Horner's scheme, Fibonacci by matrix powers, Pascal's triangle
  torch::Tensor s = torch::arange(1, 10, torch::kDouble).view({3, 3});
  for (int i = 0; i < 100; ++i) {
    s /= s.sum(1, true);
    s /= s.sum(0, true);
  }
  std::cout << s << "\n" << s.sum(1) << "\n";
  torch::Tensor polynomial = torch::zeros({5});
  for (double coefficient : {1.0, -3.0, 0.0, 2.0}) polynomial = polynomial * torch::linspace(-2, 2, 5) + coefficient;
  std::cout << polynomial << "\n" << torch::tensor({{1, 1}, {1, 0}}).matrix_power(30) << "\n";
  torch::Tensor row = torch::ones({1}, torch::kLong);
  for (int i = 0; i < 6; ++i) row = torch::constant_pad_nd(row, {1, 0}) + torch::constant_pad_nd(row, {0, 1});
  std::cout << row << "\n";
  // a confusion matrix, and accuracy
  torch::Tensor truth = torch::tensor({0, 1, 2, 2, 1, 0}), guess = torch::tensor({0, 2, 2, 2, 1, 1});
  std::cout << torch::bincount(truth * 3 + guess, {}, 9).view({3, 3}) << "\n"
            << (truth == guess).to(torch::kFloat).mean().item<float>() << "\n";
  return 0;
}
