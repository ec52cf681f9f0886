// Typical examples from introductions to LibTorch: options, conversions, slices, nested lists, devices.
#include <torch/torch.h>

#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace {

torch::Tensor normalise(torch::Tensor image, at::ArrayRef<double> mean, at::ArrayRef<double> deviation) {
  for (size_t c = 0; c < mean.size(); c++) image[c].sub_(mean[c]).div_(deviation[c]);
  return image;
}

std::tuple<at::Tensor, at::Tensor> split_in_two(const at::Tensor& x, at::optional<int64_t> at_row = c10::nullopt) {
  const int64_t row = at_row.value_or(x.size(0) / 2);
  const auto parts = torch::split(x, {row, x.size(0) - row});
  return std::make_tuple(parts.at(0), parts.at(1));
}

std::vector<std::vector<float>> to_lists(const torch::Tensor& x) {
  TORCH_CHECK(x.dim() == 2 && x.is_contiguous(), "to_lists: a contiguous matrix, please");
  std::vector<std::vector<float>> lists;
  for (int i = 0; i < x.size(0); i++)
    lists.emplace_back(x.data_ptr<float>() + i * x.size(1), x.data_ptr<float>() + (i + 1) * x.size(1));
  return lists;
}

}  // namespace

int main() {
  auto options =
      torch::TensorOptions().dtype(torch::kFloat32).layout(torch::kStrided).device(torch::kCPU, 0).requires_grad(false);
  torch::Tensor tensor = torch::full({3, 4}, /*value=*/123, options);
  std::cout << tensor << std::endl << tensor.sizes() << std::endl << tensor.dim() << tensor.numel() << std::endl;
  std::cout << torch::ones(10, at::device(at::kCPU).dtype(at::kDouble)).sum() << std::endl;
  std::cout << torch::zeros({2, 2}, at::TensorOptions(at::kCPU).dtype(at::ScalarType::Int)) << std::endl;
  torch::Device device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  if (device.is_cuda()) device = torch::Device(torch::kCPU);
  std::cout << device.type() << std::endl;
  std::cout << torch::arange(0, 12).view({3, 4}).to(device, torch::kFloat).slice(/*dim=*/1, /*start=*/1, /*end=*/3)
            << std::endl;
  std::cout << tensor.to(tensor.options().dtype(torch::kLong)).sum().item().toLong() << std::endl;

  std::array<int64_t, 2> shape = {2, 6};
  std::vector<int64_t> vector_shape = {4, 3};
  std::cout << tensor.reshape(shape).sizes() << tensor.view(vector_shape).sizes() << tensor.view({-1}).size(0)
            << torch::zeros(shape).sizes() << torch::zeros(vector_shape).sizes()
            << torch::randn(at::IntArrayRef(vector_shape)).sizes() << std::endl;
  std::cout << normalise(torch::ones({2, 1, 2}), {0.5, 0.25}, {2, 0.5}) << std::endl;
  at::Tensor top, bottom;
  std::tie(top, bottom) = split_in_two(torch::arange(10).view({5, 2}));
  std::cout << top << std::endl << bottom.sizes() << std::get<0>(split_in_two(bottom, 1)).sizes() << std::endl;
  for (const auto& row : to_lists(torch::eye(2) * 3)) {
    for (float value : row) std::cout << value << ' ';
    std::cout << std::endl;
  }
  float data[] = {1, 2, 3, 4};
  torch::Tensor f = torch::from_blob(data, {2, 2}).clone();
  data[0] = 99;
  std::cout << f << std::endl;
  auto a = f.accessor<float, 2>();
  for (int i = 0; i < a.size(0); i++) std::cout << a[i][i] << ' ';
  std::cout << std::endl
            << *f.data_ptr<float>() << ' ' << f.data_ptr<float>()[3] << ' ' << f[1][0].item().to<double>() << std::endl;
  std::vector<torch::Tensor> list;
  list.push_back(f);
  list.emplace_back(f + 1);
  list.push_back(torch::stack({f, f}).sum(0));
  torch::TensorList view = list;
  std::cout << view.size() << torch::cat(list).sizes() << torch::stack(at::TensorList(list)).mean() << std::endl;
  std::unique_ptr<torch::Tensor> owned = std::make_unique<torch::Tensor>(torch::ones({1}));
  std::cout << owned->item<int>() << (owned->defined() ? "defined" : "not") << torch::Tensor().defined() << std::endl;
  const auto min_max = std::make_pair(f.min().item<float>(), f.max().item<float>());
  std::cout << min_max.first << min_max.second << std::endl;
  auto [values, indices] = torch::max(f, /*dim=*/1);
  std::cout << values << std::endl << indices << std::endl;
  auto sorted = torch::sort(f, /*dim=*/-1, /*descending=*/true);
  std::cout << std::get<0>(sorted) << std::endl;
  if (torch::any(f > 3).item<bool>() && (f == f).all().item().toBool()) std::cout << "above" << std::endl;
  f.index_put_({torch::indexing::Slice(), 0}, -1);
  f += torch::ones_like(f) * 0.5;
  f = (f - f.mean()) / (f.std() + 1e-5);
  std::cout << f << std::endl;
  f.print();
  std::cout << f.toString() << ' ' << f.scalar_type() << ' ' << f.device() << ' ' << f.requires_grad() << ' '
            << f.is_sparse() << f.is_contiguous() << std::endl;
  std::cout << at::clamp(f, c10::nullopt, 0.5) << std::endl << at::clamp(f, -0.5) << std::endl;
  std::cout << torch::where(f > 0, f, torch::scalar_tensor(0)) << std::endl << f.t().contiguous().view(-1) << std::endl;
  std::cout << c10::str("sizes ", f.sizes(), " and ", 3) << std::endl
            << torch::numel(f) << torch::is_nonzero(torch::tensor(3)) << std::endl;
  torch::manual_seed(1);
  torch::Tensor r = torch::rand({5}) * 2 - 1;
  std::cout << (r.abs() <= 1).all().item<bool>() << torch::randperm(5).sum().item<int64_t>()
            << torch::randint(3, {2, 2}).max().lt(3).item<bool>() << std::endl;
  return 0;
}
