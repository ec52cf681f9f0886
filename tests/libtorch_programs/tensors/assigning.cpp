// Assignment to parts of tensors.
#include <torch/torch.h>

#include <iostream>

using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;

int main() {
  torch::Tensor x = torch::zeros({3, 4});
  x[0] = 1;
  x[1][2] = 5.5;
  x[2].fill_(-1);
  std::cout << x << "\n";
  x.index_put_({Slice(), 0}, 7);
  x.index_put_({Slice(1, None), Slice(None, None, 2)}, torch::tensor({0.5, 0.25}));
  x.index_put_({Ellipsis, -1}, torch::arange(3));
  std::cout << x << "\n";
  x.index_put_({x < 0}, 0);
  x.index_put_({x > 5}, torch::tensor(9.0));
  x.index_put_({torch::tensor({0, 2}), torch::tensor({1, 1})}, torch::tensor({10.0, 20.0}));
  std::cout << x << "\n";
  x.index_put_({torch::tensor({0, 0, 1})}, torch::ones({3, 4}), /*accumulate=*/true);
  std::cout << x << "\n";
  x.index({Slice(), 1}).zero_();
  x.select(0, 1).mul_(2);
  x.narrow(1, 2, 2).add_(100);
  x.slice(0, 0, 3, 2).copy_(torch::full({2, 4}, 3));
  std::cout << x << "\n";

  torch::Tensor y = torch::arange(10);
  y.masked_fill_(y % 3 == 0, -1);
  std::cout << y << "\n" << y.masked_fill(y > 6, 0) << "\n";
  y.masked_scatter_(y == -1, torch::tensor({100, 101, 102, 103}));
  std::cout << y << "\n";
  y.index_fill_(0, torch::tensor({1, 2}), 0).index_add_(0, torch::tensor({4, 4}), torch::tensor({1, 2}));
  y.index_copy_(0, torch::tensor({9, 8}), torch::tensor({-9, -8}));
  std::cout << y << "\n" << torch::where(y > 5, y, torch::zeros_like(y)) << "\n" << torch::where(y > 5, 1, y) << "\n";
  torch::Tensor z = torch::zeros({3, 3}, torch::kInt64);
  z.scatter_(1, torch::tensor({{0}, {2}, {1}}), 4);
  z.scatter_(0, torch::tensor({{2, 0, 1}}), torch::tensor({{7, 8, 9}}));
  z.scatter_add_(1, torch::tensor({{0, 0}, {1, 1}, {2, 2}}), torch::tensor({{1, 2}, {3, 4}, {5, 6}}));
  std::cout << z << "\n";
  z.fill_diagonal_(-5);
  std::cout << z << "\n" << z.put_(torch::tensor({0, 8}), torch::tensor({11, 12})) << "\n";
  std::cout
      << torch::zeros({4}, torch::kInt64).scatter_reduce(0, torch::tensor({0, 0, 3}), torch::tensor({5, 2, 1}), "amax")
      << "\n";
  std::cout << z.select_scatter(torch::tensor({1, 2, 3}), 0, 1) << "\n"
            << z.slice_scatter(torch::zeros({3, 1}, torch::kInt64), 1, 0, 1) << "\n"
            << z.diagonal_scatter(torch::tensor({6, 6, 6})) << "\n";
  return 0;
}
