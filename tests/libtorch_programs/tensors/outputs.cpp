// Functions with output arguments and in-place functions, by their names in at::.
#include <ATen/ATen.h>
#include <torch/torch.h>

#include <iostream>

using at::Tensor;

int main() {
  const Tensor a = at::arange(1, 7, at::kDouble).view({2, 3}), b = at::full({2, 3}, 2.0, at::kDouble);
  Tensor out = at::empty({2, 3}, at::kDouble);
  const void* place = out.data_ptr();
  std::cout << at::add_out(out, a, b, 10) << '\n' << at::sub_out(out, a, b) << '\n' << at::mul_out(out, a, b) << '\n';
  std::cout << at::div_out(out, a, b) << '\n' << at::pow_out(out, a, 2) << '\n' << at::exp_out(out, a - 3) << '\n';
  std::cout << at::clamp_out(out, a, 2, 5) << '\n'
            << at::maximum_out(out, a, b * 2) << '\n'
            << at::neg_out(out, a) << '\n';
  std::cout << (out.data_ptr() == place) << out[1][2].item<double>() << '\n';
  Tensor product = at::empty({0}, at::kDouble);
  std::cout << at::matmul_out(product, a, b.t()) << '\n' << product.sizes() << '\n';
  std::cout << at::mm_out(product, a.t(), b).sizes() << at::bmm_out(product, a.unsqueeze(0), b.t().unsqueeze(0)).sizes()
            << '\n';
  Tensor joined = at::empty({0}, at::kDouble);
  at::cat_out(joined, {a, b}, 0);
  std::cout << joined << '\n' << at::stack_out(joined, {a, b}, 2).sizes() << '\n';
  Tensor sums = at::empty({0}, at::kDouble);
  std::cout << at::sum_out(sums, a, 1) << '\n'
            << at::mean_out(sums, a, 0) << '\n'
            << at::cumsum_out(sums, a, 1) << '\n';
  Tensor values = at::empty({0}, at::kDouble), indices = at::empty({0}, at::kLong);
  at::max_out(values, indices, a, 1);
  std::cout << values << '\n' << indices << '\n';
  at::sort_out(values, indices, -a, 1, false);
  std::cout << values << '\n' << indices << '\n';
  at::topk_out(values, indices, a, 2);
  std::cout << values << '\n' << indices << '\n';
  Tensor places = at::empty({0}, at::kLong), truth = at::empty({0}, at::kBool);
  std::cout << at::argmax_out(places, a, 0) << '\n'
            << at::gt_out(truth, a, 3) << '\n'
            << at::eq_out(truth, a, b) << '\n';
  std::cout << at::index_select_out(out, a, 1, at::tensor({2, 2, 0}, at::kLong)) << '\n'
            << at::gather_out(out, a, 1, at::zeros({2, 3}, at::kLong)) << '\n';
  std::cout << at::arange_out(out, 4) << '\n' << at::linspace_out(out, 0, 1, 3) << '\n' << at::eye_out(out, 2) << '\n';
  std::cout << at::zeros_out(out, {2}) << '\n' << at::full_out(out, {1, 2}, 8) << '\n';
  // an output of another dtype, if it can hold the result
  Tensor single = at::empty({0}, at::kFloat), whole = at::empty({0}, at::kInt);
  std::cout << at::add_out(single, a, b) << '\n';
  try {
    at::add_out(whole, a, b);
    std::cout << "no error\n";
  } catch (const c10::Error&) {
    std::cout << "a double does not go into an int\n";
  }

  Tensor x = a.clone();
  x.add_(1).mul_(b).sub_(b, 0.5).div_(4);
  std::cout << x << '\n';
  x.sqrt_().log_().abs_().clamp_(0.1, 0.5);
  std::cout << x << '\n';
  x.copy_(a[0]).t_().unsqueeze_(0).squeeze_();
  std::cout << x << '\n' << x.sizes() << x.strides() << '\n';
  x.fill_(3).pow_(2).remainder_(4).neg_();
  std::cout << x << '\n' << x.zero_().eq_(0).all() << '\n';
  Tensor m = at::ones({2, 2});
  m.addmm_(m, m, 1, 0.5).addcmul_(m, m, 2).addcdiv_(m, m, 3).lerp_(at::zeros({2, 2}), 0.5);
  std::cout << m << '\n' << m.tril_().triu_() << '\n' << m.resize_({1, 3}).sizes() << '\n';
  m = at::tensor({3, 1, 2}, at::kLong);
  m.bitwise_and_(2).bitwise_or_(at::tensor({4, 0, 1}, at::kLong)).bitwise_xor_(1);
  std::cout << m << '\n' << m.floor_divide_(2) << '\n' << m.gt_(0) << '\n' << (m == 1).logical_not_() << '\n';
  Tensor n = at::tensor({1.5f, NAN, -INFINITY});
  std::cout << n.nan_to_num_(0, 9, -9) << '\n' << n.swapaxes(0, 0).is_alias_of(n) << n.detach().is_alias_of(n) << '\n';
  return 0;
}
