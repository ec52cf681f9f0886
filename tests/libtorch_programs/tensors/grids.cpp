// Grids, pairs and patterns of indices, and small cellular automata built from them.
#include <torch/torch.h>

#include <iostream>
#include <utility>
#include <vector>

int main() {
  const auto grid = torch::meshgrid({torch::arange(3), torch::arange(4)}, "ij");
  std::cout << grid[0] << std::endl << grid[1] << std::endl;
  const auto swapped = torch::meshgrid({torch::arange(3), torch::arange(4)}, "xy");
  std::cout << swapped[0].sizes() << swapped[1] << std::endl;
  std::cout << torch::cartesian_prod({torch::tensor({1, 2}), torch::tensor({5, 6, 7})}) << std::endl;
  std::cout << torch::combinations(torch::arange(4), 2) << torch::combinations(torch::arange(3), 2, true) << std::endl;
  std::cout << torch::tril_indices(3, 4, -1) << torch::triu_indices(3, 3, 1) << std::endl;
  std::cout << torch::block_diag({torch::ones({2, 2}), torch::full({1, 3}, 7), torch::tensor(5.0)}) << std::endl;
  std::cout << torch::vander(torch::tensor({2.0, 3.0}), 4) << torch::vander(torch::tensor({2.0, 3.0}), 4, true)
            << std::endl;
  std::cout << torch::logspace(0, 3, 4) << torch::linspace(-1, 1, 5) << torch::arange(1, 2, 0.25) << std::endl;
  std::cout << torch::diag_embed(torch::tensor({{1, 2}, {3, 4}}), 1).sizes() << torch::diagflat(torch::arange(3), -1)
            << std::endl;

  // A glider in the game of life: counts neighbours by rolled copies, and by a convolution.
  auto board = torch::zeros({6, 6});
  const std::vector<std::pair<int, int>> alive = {{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}};
  for (const auto& [row, column] : alive) board[row][column] = 1;
  auto kernel = torch::ones({1, 1, 3, 3});
  kernel[0][0][1][1] = 0;
  for (int step = 0; step < 5; ++step) {
    auto neighbours = torch::zeros_like(board);
    for (int dy = -1; dy <= 1; ++dy)
      for (int dx = -1; dx <= 1; ++dx)
        if (dy != 0 || dx != 0) neighbours += board.roll({dy, dx}, {0, 1});
    namespace F = torch::nn::functional;
    const auto padded = F::pad(board.view({1, 1, 6, 6}), F::PadFuncOptions({1, 1, 1, 1}).mode(torch::kCircular));
    TORCH_CHECK(torch::equal(torch::conv2d(padded, kernel).view({6, 6}), neighbours));
    board = ((neighbours == 3) | ((board == 1) & (neighbours == 2))).to(torch::kFloat);
  }
  std::cout << board.to(torch::kInt) << std::endl;

  // Rule 110: three neighbouring cells form a number, which selects a bit.
  const auto rule = (torch::tensor(110).bitwise_right_shift(torch::arange(8))).bitwise_and(1);
  auto cells = torch::zeros({16}, torch::kLong);
  cells[-1] = 1;
  for (int step = 0; step < 6; ++step) {
    const auto number = cells.roll(1) * 4 + cells * 2 + cells.roll(-1);
    cells = rule.index({number});
    std::cout << cells.sum().item<int64_t>() << ":" << cells.nonzero().flatten().slice(0, 0, 4) << std::endl;
  }
  // The sieve of Eratosthenes.
  auto prime = torch::ones({60}, torch::kBool);
  prime.slice(0, 0, 2).fill_(false);
  for (int64_t n = 2; n * n < 60; ++n)
    if (prime[n].item<bool>()) prime.slice(0, n * n, 60, n).fill_(false);
  std::cout << prime.nonzero().squeeze(1).view({-1}) << std::endl;
  return 0;
}
