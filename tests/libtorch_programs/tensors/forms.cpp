// Overloads that are easily missing: each argument is a variable of the type that LibTorch declares.
#include <torch/torch.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

using at::Tensor;

Tensor ramp(torch::IntArrayRef sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return (torch::arange(n, torch::kDouble) * 0.37).sin().view(sizes);
}
void print(const char* name, const Tensor& t) { std::cout << name << "\n" << (t * 1000).round() << "\n"; }

int main() {
  const Tensor x = ramp({3, 4}), y = ramp({4, 3}).t() * 0.5, p = (x + 1.1) / 2.2, sign = torch::where(x > 0, 1.0, -1.0);
  const Tensor image = ramp({1, 2, 4, 5}), signal = ramp({2, 2, 7}), classes = torch::tensor({0, 2, 3});
  const std::optional<Tensor> none;
  const at::Scalar one(1), half(0.5), two(2);
  const std::optional<at::Scalar> no_scalar;
  const std::optional<at::ScalarType> to_float = at::kFloat, to_double = at::kDouble, no_dtype;

  // reductions of losses as integers
  for (const int64_t reduction : {0, 1, 2}) {
    std::cout << "reduction " << reduction << "\n";
    print("mse_loss", at::mse_loss(x, y, reduction));
    print("l1_loss", at::l1_loss(x, y, reduction));
    print("smooth_l1_loss", at::smooth_l1_loss(x, y, reduction, 0.3));
    print("huber_loss", at::huber_loss(x, y, reduction, 0.4));
    print("binary_cross_entropy", at::binary_cross_entropy(p, (y + 1) / 2, none, reduction));
    print("with logits", at::binary_cross_entropy_with_logits(x, (y + 1) / 2, none, none, reduction));
    print("kl_div", at::kl_div(x, (y + 1) / 2, reduction, false));
    print("nll_loss", at::nll_loss(x, classes, none, reduction, -100));
    print("cross_entropy_loss", at::cross_entropy_loss(x, classes, none, reduction, -100, 0.1));
    print("multi_margin_loss", at::multi_margin_loss(x, classes, one, half, none, reduction));
    print("margin_ranking_loss", at::margin_ranking_loss(x, y, sign, 0.2, reduction));
    print("hinge_embedding_loss", at::hinge_embedding_loss(x, sign, 0.7, reduction));
    print("cosine_embedding_loss", at::cosine_embedding_loss(x, y, torch::tensor({1, -1, 1}), 0.1, reduction));
    print("triplet_margin_loss", at::triplet_margin_loss(x, y, p, 0.5, 2, 1e-6, false, reduction));
    print("soft_margin_loss", at::soft_margin_loss(x, sign, reduction));
    print("poisson_nll_loss", at::poisson_nll_loss(x, p, true, true, 1e-8, reduction));
    print("ctc_loss", at::ctc_loss(ramp({5, 1, 3}).log_softmax(2), torch::tensor({{1, 2}}), {5}, {2}, 0, reduction));
  }
  print("at::Reduction::Sum", at::mse_loss(x, y, at::Reduction::Sum));

  // a Scalar first
  const Tensor integers = torch::tensor({3, -3, 12}), bytes = torch::tensor({3, 255, 12}, at::kByte);
  std::cout << at::bitwise_and(at::Scalar(6), integers) << at::bitwise_or(at::Scalar(6), bytes)
            << at::bitwise_xor(at::Scalar(300), bytes) << at::remainder(at::Scalar(5), integers)
            << at::remainder(at::Scalar(5.5), integers) << at::remainder(at::Scalar(5), x[0] + 3) << "\n"
            << at::result_type(at::Scalar(1.5), integers) << at::result_type(at::Scalar(1), bytes)
            << at::result_type(at::Scalar(true), at::Scalar(1)) << at::result_type(one, half) << "\n";

  // sequences between Scalars and tensors
  const Tensor from = torch::tensor(1), till = torch::tensor(4.0);
  std::cout << at::linspace(one, two, 3) << at::linspace(from, till, 4) << at::linspace(from, two, 3, at::kDouble)
            << at::linspace(at::Scalar(9), from, 3, at::kLong) << at::logspace(from, till, 4)
            << at::logspace(from, two, 3, 2.0) << at::logspace(at::Scalar(0), till, 3, 2.0, at::kDouble) << "\n";
  const Tensor drawn = at::randint_like(x, torch::tensor(3));
  std::cout << drawn.sizes() << (drawn >= 0).all().item<bool>() << (drawn < 3).all().item<bool>() << "\n";

  // paddings as strings, sizes of one dimension as lists
  const Tensor kernel1 = ramp({3, 2, 4}), kernel2 = ramp({3, 2, 2, 3}), kernel3 = ramp({1, 1, 2, 2, 2});
  const std::string same = "same", valid = "valid";
  const std::vector<int64_t> list1{1}, list2{2}, list3{3};
  const at::IntArrayRef by1(list1), by2(list2), by3(list3);
  print("conv1d", at::conv1d(signal, kernel1, none, by2, by1, by2, 1));
  print("conv1d same", at::conv1d(signal, kernel1, none, by1, same, by2, 1));
  print("conv1d valid", at::conv1d(signal, kernel1, none, by2, "valid"));
  print("conv2d same", at::conv2d(image, kernel2, ramp({3}), at::IntArrayRef({1, 1}), same, {2, 1}));
  print("conv2d unbatched", at::conv2d(image[0], kernel2, {}, 1, "same"));
  print("conv2d valid", at::conv2d(image, kernel2, none, {2, 2}, valid));
  print("conv3d same", at::conv3d(ramp({1, 1, 2, 3, 3}), kernel3, none, {1, 1, 1}, same));
  print("conv_transpose1d", at::conv_transpose1d(signal, ramp({2, 1, 3}), none, by2, by1, by1, 1, by1));
  print("avg_pool1d", at::avg_pool1d(signal, by3, by2, by1, true, false));
  print("max_pool1d", at::max_pool1d(signal, by3, by2, by1, by1, false));
  print("its indices", std::get<1>(at::max_pool1d_with_indices(signal, by3)));
  print("adaptive_avg_pool1d", at::adaptive_avg_pool1d(signal, by3));
  print("adaptive_max_pool1d", std::get<0>(at::adaptive_max_pool1d(signal, by2)));

  // norms
  const at::OptionalIntArrayRef rows(by1), all;
  print("norm", at::norm(x, half));
  print("norm dtype", at::norm(x.to(at::kFloat), no_scalar, at::kDouble));
  print("norm of rows", at::norm(x, std::optional<at::Scalar>(3), by1, true));
  print("norm of rows dtype", x.to(at::kFloat).norm(no_scalar, by1, false, at::kDouble));
  print("linalg_norm", at::linalg_norm(x, no_scalar, rows, true, no_dtype));
  print("linalg_norm fro", at::linalg_norm(x, std::string("fro"), all, false, to_double));
  print("linalg_vector_norm", at::linalg_vector_norm(x, two, rows, false, to_double));
  print("nuclear_norm", at::nuclear_norm(x, true));
  print("dist", at::dist(x, y, half));
  print("tensorsolve",
        at::linalg_tensorsolve(ramp({2, 3, 6}).view({2, 3, 6}) + torch::eye(6, at::kDouble).view({2, 3, 6}),
                               ramp({2, 3}), all));

  // Scalars as parameters
  print("leaky_relu", at::leaky_relu(x, half));
  print("elu", at::elu(x, two));
  Tensor changed = x.clone();
  print("elu_", at::elu_(changed, two, half, two));
  print("leaky_relu_", at::leaky_relu_(changed, half));
  print("softplus", at::softplus(x, two, at::Scalar(1.5)));
  print("round", at::special_round(x * 10, 1));

  // an optional dtype
  print("sum", at::sum(integers, to_float) + x.sum(no_dtype));
  print("mean", at::mean(integers, to_float) + x.mean(no_dtype));
  print("prod", at::prod(integers, to_float) + x.prod(no_dtype));
  print("cumsum_", integers.clone().cumsum_(0, std::optional<at::ScalarType>(at::kLong)));
  std::cout << at::sum(bytes, to_float).scalar_type() << at::prod(bytes, no_dtype).scalar_type() << "\n";

  // resizing by a size or by factors
  const std::vector<double> factors{1.5, 2.5}, factor{1.7};
  const std::optional<at::ArrayRef<double>> by_factors(factors), by_factor(factor), no_factors;
  const std::vector<int64_t> size{3, 7};
  const at::OptionalIntArrayRef to_size(size), no_size;
  print("nearest2d", at::upsample_nearest2d(image, no_size, by_factors));
  print("nearest1d", at::upsample_nearest1d(signal, no_size, by_factor));
  print("linear1d", at::upsample_linear1d(signal, no_size, false, by_factor));
  print("bilinear2d", at::upsample_bilinear2d(image, no_size, false, by_factors));
  print("bilinear2d aligned", at::upsample_bilinear2d(image, no_size, true, by_factors));
  print("bilinear2d to a size", at::upsample_bilinear2d(image, to_size, false, no_factors));
  print("bicubic2d", at::upsample_bicubic2d(image, no_size, false, by_factors));

  // lists of optional tensors
  c10::List<std::optional<Tensor>> indices;
  indices.push_back(std::nullopt);
  indices.push_back(torch::tensor({3, 0, 0}));
  print("index", at::index(x, indices));
  print("index method", x.index(indices));
  print("index_put", at::index_put(x, indices, torch::ones({3}, at::kDouble), true));
  changed = x.clone();
  print("index_put_", at::index_put_(changed, indices, torch::zeros({}, at::kDouble)));
  print("index_put_ method", changed.index_put_(indices, torch::ones({}, at::kDouble), true));

  // other arguments
  const std::optional<int64_t> dim0 = 0, six = 6, no_dim;
  print("repeat_interleave", at::repeat_interleave(x, 2, dim0, six));
  print("by a tensor", at::repeat_interleave(x, torch::tensor({1, 2, 3}), dim0, six));
  print("of counts", at::repeat_interleave(torch::tensor({1, 2, 3}), six));
  print("count_nonzero", at::count_nonzero(x, dim0) + x.count_nonzero(no_dim));
  const Tensor sequence = torch::tensor({1.0, 5.0, 3.0}), order = torch::tensor({0, 2, 1});
  const std::optional<std::string_view> side = "right";
  print("searchsorted", at::searchsorted(sequence, torch::tensor({3.0, 4.0}), false, false, side, order));
  print("of a Scalar", at::searchsorted(sequence, at::Scalar(3), true, true, side, order));
  for (const Tensor& part : at::tensor_split(x, torch::tensor({1, 3}), 1)) print("tensor_split", part);
  print("narrow", at::narrow(x, 1, torch::tensor(-2), 2) + x.narrow(1, torch::tensor(1), 2));
  print("gather", at::gather(x, 1, torch::tensor({{0, 3}, {1, 1}, {2, 0}}), false));
  print("einsum", at::einsum("ij,jk,kl->il", {x, y.t(), x}, std::vector<int64_t>{1, 2, 0, 1}));
  print("clone", at::clone(x.t(), std::optional<at::MemoryFormat>(at::MemoryFormat::Contiguous)));
  print("where", x.where(x > 0, half));
  print("expand", x[0].expand({2, 4}, true));
  changed = torch::empty({0}, at::kDouble);
  print("set_", changed.set_(x, 2, {2, 3}, {4, 1}));
  print("set_ without strides", changed.set_(x, 2, {5}));
  std::cout << x.to().is_same(x) << "\n";

  // the gradient of rows that are looked up several times
  for (const bool scaled : {false, true}) {
    const Tensor table = ramp({4, 3}).requires_grad_();
    at::embedding(table, torch::tensor({1, 1, 3, 2, 1}), 2, scaled, false).sum().backward();
    print("gradient of embedding", table.grad());
  }
  return 0;
}
