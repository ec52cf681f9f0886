// Joining, repeating, rotating and padding tensors.
#include <torch/torch.h>

#include <iostream>

int main() {
  const torch::Tensor x = torch::arange(6).reshape({2, 3}), y = torch::arange(6, 12).reshape({2, 3});
  std::cout << torch::cat({x, y}) << "\n"
            << torch::cat({x, y}, -1) << "\n"
            << torch::stack({x, y}) << "\n"
            << torch::stack({x, y}, 2) << "\n";
  std::cout << torch::cat({x, torch::tensor({0.5, 1.5, 2.5}).unsqueeze(0)}) << "\n";
  std::cout << torch::hstack({x, y}) << "\n"
            << torch::vstack({x, y}).sizes() << torch::dstack({x, y}).sizes() << torch::column_stack({x, y}).sizes()
            << "\n";
  std::cout << x.flip(0) << "\n"
            << x.flip({0, 1}) << "\n"
            << torch::fliplr(x) << "\n"
            << torch::flipud(x) << "\n"
            << torch::rot90(x) << "\n"
            << torch::rot90(x, 2, {1, 0}) << "\n";
  std::cout << x.roll(1) << "\n" << x.roll(-1, 1) << "\n" << x.roll({1, 2}, {0, 1}) << "\n";
  std::cout << x.repeat({2, 2}) << "\n" << x.tile({1, 2}) << "\n" << torch::repeat_interleave(x, 2, 1) << "\n";
  std::cout << x.repeat_interleave(torch::tensor({1, 3}), 0) << "\n" << x.expand({2, 2, 3}).sizes() << "\n";
  std::cout << torch::arange(7).unfold(0, 3, 2) << "\n" << x.reshape({3, -1}) << "\n" << x.ravel() << "\n";
  const auto grids = torch::meshgrid({torch::arange(2), torch::arange(3)}, "ij");
  std::cout << grids[0] << "\n"
            << grids[1] << "\n"
            << torch::meshgrid({torch::arange(2), torch::arange(3)}, "xy")[1] << "\n";
  const auto both = torch::broadcast_tensors({torch::arange(3), torch::arange(2).unsqueeze(1)});
  std::cout << both[0] << "\n" << both[1] << "\n";
  std::cout << torch::block_diag({x, torch::ones({1, 1}, torch::kInt64)}) << "\n"
            << torch::kron(x, torch::ones({1, 2}, torch::kInt64)) << "\n";
  std::cout << torch::atleast_2d(torch::tensor(3)) << "\n"
            << torch::atleast_3d(x).sizes() << torch::atleast_1d(torch::tensor(3)).sizes() << "\n";
  const torch::Tensor z = torch::zeros({1, 2, 1, 3});
  std::cout << z.squeeze().sizes() << z.squeeze(0).sizes() << z.squeeze(1).sizes() << z.squeeze(-2).sizes()
            << z.unsqueeze(-1).sizes() << "\n";
  std::cout << z.flatten().sizes() << z.flatten(1, 2).sizes() << z.permute({3, 1, 0, 2}).sizes()
            << z.moveaxis(3, 0).sizes() << "\n";
  std::cout << z.dim() << " " << z.numel() << " " << z.size(-1) << " " << z.ndimension() << " " << z.nbytes() << " "
            << z.element_size() << "\n";
  std::cout << torch::diagonal(x) << "\n"
            << torch::diagflat(torch::tensor({{1, 2}}), -1) << "\n"
            << x.tril(-1) << "\n"
            << x.triu() << "\n";
  std::cout << torch::channel_shuffle(torch::arange(4).reshape({1, 4, 1, 1}), 2).flatten() << "\n";
  std::cout << torch::pixel_shuffle(torch::arange(8).reshape({1, 4, 1, 2}), 2) << "\n";
  for (const torch::Tensor& part : x.chunk(2, 1)) std::cout << part << "\n";
  for (const torch::Tensor& part : torch::arange(5).split({2, 3})) std::cout << part << "\n";
  try {
    torch::cat({x, torch::zeros({2, 2})});
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "sizes do not fit\n";
  }
  try {
    x.view({4});
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "no view of that shape\n";
  }
  return 0;
}
