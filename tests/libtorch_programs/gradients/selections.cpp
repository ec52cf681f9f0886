// Gradients of operations that select, sort, join and scatter elements.
#include <torch/torch.h>

#include <iostream>
#include <vector>

using torch::indexing::Slice;

int main() {
  const auto options = torch::TensorOptions().dtype(torch::kFloat64).requires_grad(true);
  torch::Tensor x = torch::tensor({{4.0, 1.0, 3.0}, {2.0, 6.0, 5.0}}, options);
  torch::Tensor y = torch::tensor({{1.0, -1.0, 0.5}, {2.0, 0.0, -2.0}}, options);
  const torch::Tensor weights = torch::arange(1, 7, torch::kFloat64).reshape({2, 3});
  // prints and clears the gradients of both inputs
  auto report = [&](const char* what, torch::Tensor loss) {
    loss.backward();
    std::cout << what << " = " << loss.item<double>() << '\n';
    for (const auto* t : {&x, &y}) {
      if (!t->grad().defined()) continue;
      std::cout << t->grad() << '\n';
      t->mutable_grad() = torch::Tensor();
    }
  };
  const torch::Tensor rows = torch::tensor({1, 0, 1}), columns = torch::tensor({0, 2, 0});
  report("repeated indices", x.index({rows, columns}).dot(torch::tensor({1.0, 2.0, 4.0}, torch::kFloat64)));
  report("a mask", (x.index({x > 2.5}) * torch::tensor({1.0, 2.0, 3.0, 4.0}, torch::kFloat64)).sum());
  report("masked_select", x.masked_select(y.ge(0)).pow(2).sum());
  report("slices", (x.index({Slice(), Slice(0, 2)}) * y.index({Slice(), Slice(1, 3)})).sum());
  report(
      "gather",
      (x.gather(1, torch::tensor({{0, 0}, {2, 1}})) * torch::tensor({{1.0, 2.0}, {3.0, 4.0}}, torch::kFloat64)).sum());
  report("index_select", (x.index_select(1, torch::tensor({2, 2, 0})) * weights).sum());
  report("take", x.take(torch::tensor({0, 5, 5})).sum());
  report("where", (torch::where(x > 3, x, y) * weights).sum());
  report("sort", (std::get<0>(x.sort(1)) * weights).sum());
  report("topk", (std::get<0>(x.topk(2, 1)) * weights.narrow(1, 0, 2)).sum());
  report("cat", (torch::cat({x, y, x}, 1) * torch::arange(18, torch::kFloat64).reshape({2, 9})).sum());
  report("stack", (torch::stack({x, y}, -1).select(2, 1) * weights).sum());
  report("split", x.split(1, 1)[2].sum() + x.chunk(3, 1)[0].prod());
  report("unbind", x.unbind()[0].dot(y.unbind()[1]));
  report("roll, flip", (x.roll(1, 1) * y.flip(0)).sum());
  report("repeat, tile", (x.repeat({1, 2}).tile({2, 1}) * torch::arange(24, torch::kFloat64).reshape({4, 6})).sum());
  report("repeat_interleave", (x.repeat_interleave(2, 0) * torch::arange(12, torch::kFloat64).reshape({4, 3})).sum());
  report("unfold", (x.unfold(1, 2, 1) * torch::arange(8, torch::kFloat64).reshape({2, 2, 2})).sum());
  report("diagonal, triu", (x.diagonal() * 2).sum() + (y.triu() * weights).sum());
  report("pad",
         (torch::constant_pad_nd(x, {1, 0, 0, 1}, 9) * torch::arange(12, torch::kFloat64).reshape({3, 4})).sum());

  report("index_put", (x.index_put({rows, columns}, torch::tensor(9.0, torch::kFloat64)) * weights).sum());
  report("index_put of a gradient",
         (x.index_put({torch::tensor({0, 1}), torch::tensor({1, 1})}, y.select(1, 0)) * weights).sum());
  report("accumulated", (x.index_put({rows, columns}, y.flatten().slice(0, 0, 3), true) * weights).sum());
  report("scatter", (x.scatter(1, torch::tensor({{2, 0, 1}, {0, 2, 1}}), y) * weights).sum());
  report("scatter_add", (x.scatter_add(1, torch::tensor({{2, 2, 0}, {0, 1, 1}}), y) * weights).sum());
  report("scatter_reduce", (x.scatter_reduce(1, torch::tensor({{2, 2, 0}, {0, 1, 1}}), y, "amax") * weights).sum());
  report("index_add", (x.index_add(1, torch::tensor({0, 0}), y.narrow(1, 0, 2), 3) * weights).sum());
  report("index_copy", (x.index_copy(0, torch::tensor({1}), y.narrow(0, 0, 1)) * weights).sum());
  report("index_fill", (x.index_fill(1, torch::tensor({1}), 0) * weights).sum());
  report("masked_fill", (x.masked_fill(x > 4, 0) * y).sum());
  report("masked_scatter", (x.masked_scatter(x > 3, y) * weights).sum());
  report("select_scatter", (x.select_scatter(y.select(0, 0), 0, 1) * weights).sum());
  report("clamp", (x.clamp(2, 5) * weights).sum());
  report("a tensor's bounds", (x.clamp(y + 1, y + 3) * weights).sum());
  report("as_strided", x.as_strided({2, 2}, {1, 1}).sum());
  report("expand", (x.select(1, 0).unsqueeze(1).expand({2, 3}) * weights).sum());
  return 0;
}
