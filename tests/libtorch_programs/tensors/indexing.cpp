// Indexing by numbers, slices, ellipses, lists and masks.
#include <torch/torch.h>

#include <iostream>

using namespace torch::indexing;

int main() {
  const torch::Tensor x = torch::arange(24).reshape({2, 3, 4});
  std::cout << x[1] << "\n" << x[1][2] << "\n" << x[-1][0][3] << "\n";
  std::cout << x.index({0}) << "\n" << x.index({0, 1}) << "\n" << x.index({0, 1, -1}) << "\n";
  std::cout << x.index({Slice(), 1}) << "\n" << x.index({"...", 2}) << "\n" << x.index({Ellipsis, 0}) << "\n";
  std::cout << x.index({Slice(), Slice(1, None), Slice(None, None, 2)}) << "\n";
  std::cout << x.index({Slice(None, -1), Slice(None, 2)}) << "\n";
  std::cout << x.index({None, 0, Slice(), 1}) << "\n" << x.index({0, None, 1}).sizes() << "\n";
  std::cout << x.index({Ellipsis, None}).sizes() << x.index({None, Ellipsis}).sizes() << x.index({Slice(5)}).sizes()
            << x.index({Slice(2, 1)}).sizes() << "\n";
  std::cout << x.index({true}).sizes() << x.index({false}).sizes() << "\n";
  // lists of indices, which broadcast
  const torch::Tensor rows = torch::tensor({1, 0, 1}), columns = torch::tensor({2, 0, -1});
  std::cout << x.index({rows}).sizes() << "\n" << x.index({rows, columns}) << "\n";
  std::cout << x.index({rows, Slice(), columns}) << "\n"
            << x.index({Slice(), rows.unsqueeze(1), columns}).sizes() << "\n";
  std::cout << x.index({0, torch::tensor({{0, 1}, {2, 2}}), 3}) << "\n";
  // masks
  std::cout << x.index({x % 5 == 0}) << "\n" << x.index({x.sum(2) > 30}) << "\n";
  std::cout << x.index({Slice(), torch::tensor({true, false, true}), 1}) << "\n";
  std::cout << torch::masked_select(x, x > 20) << "\n" << torch::nonzero(x > 20) << "\n";
  std::cout << x.index({x > 100}).sizes() << torch::nonzero(x > 100).sizes() << "\n";
  const auto where = torch::where(x > 21);
  std::cout << where.size() << "\n" << where[0] << "\n" << where[2] << "\n";
  // equivalent functions
  std::cout << x.select(1, 2) << "\n" << x.narrow(2, 1, 2) << "\n" << x.slice(2, 0, 4, 3) << "\n";
  std::cout << x.index_select(1, torch::tensor({2, 0})) << "\n";
  std::cout << torch::take(x, torch::tensor({0, 5, -1})) << "\n";
  std::cout << x.gather(2, torch::tensor({{{0}, {1}, {2}}, {{3}, {2}, {1}}})) << "\n";
  std::cout << torch::take_along_dim(x, x.argmax(2, /*keepdim=*/true), 2) << "\n";
  // indexing by numbers and slices shares storage, indexing by lists does not
  std::cout << x.index({0, Slice(1, 3)}).is_alias_of(x) << x.index({rows}).is_alias_of(x) << "\n";
  return 0;
}
