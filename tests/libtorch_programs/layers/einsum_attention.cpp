// Attention written with einsum: heads, masks, rotary positions, a key cache. Compared with the library's attention.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <tuple>
#include <vector>

namespace F = torch::nn::functional;
using torch::indexing::None;
using torch::indexing::Slice;

torch::Tensor wave(std::vector<int64_t> sizes, double step) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return (torch::arange(n, torch::kDouble) * step).sin().reshape(sizes);
}
/// Rotary position embedding of x (B, H, T, D): rotates each pair along the last dimension by a position-dependent
/// angle.
torch::Tensor rotary(const torch::Tensor& x, int64_t first) {
  const int64_t half = x.size(-1) / 2;
  const auto frequency = torch::pow(100.0, -torch::arange(half, x.options()) / double(half));
  const auto angle = torch::outer(torch::arange(first, first + x.size(2), x.options()), frequency);
  const auto a = x.index({"...", Slice(None, half)}), b = x.index({"...", Slice(half, None)});
  return torch::cat({a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()}, -1);
}
std::tuple<torch::Tensor, torch::Tensor> attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                                                const torch::Tensor& mask) {
  auto scores = torch::einsum("bhqd,bhkd->bhqk", {q, k}) / std::sqrt(double(q.size(-1)));
  if (mask.defined()) scores = scores.masked_fill(mask, -std::numeric_limits<double>::infinity());
  const auto weights = scores.softmax(-1);
  return {torch::einsum("bhqk,bhkd->bhqd", {weights, v}), weights};
}

int main() {
  const int64_t B = 2, T = 5, H = 2, D = 4, E = H * D;
  auto x = wave({B, T, E}, 0.31).requires_grad_();
  auto w = wave({3, E, E}, 0.17).requires_grad_();
  const auto qkv = torch::einsum("bte,cef->cbtf", {x, w * 0.5});
  const auto heads = qkv.view({3, B, T, H, D}).permute({0, 1, 3, 2, 4});
  const auto q = rotary(heads[0], 0), k = rotary(heads[1], 0), v = heads[2];
  const auto future = torch::ones({T, T}, torch::kBool).triu(1);

  auto [y, weights] = attend(q, k, v, future);
  std::cout << y.sizes() << "\n" << weights.index({0, 0}) << "\n";
  const auto own = torch::scaled_dot_product_attention(q, k, v, {}, 0.0, /*is_causal=*/true);
  std::cout << "as the library's: " << torch::allclose(y, own) << "\n";

  // Computes token by token, with a cache of keys and values.
  torch::Tensor keys, values;
  std::vector<torch::Tensor> rows;
  for (int64_t t = 0; t < T; ++t) {
    const auto now = Slice(t, t + 1);
    const auto key = rotary(heads[1].index({Slice(), Slice(), now}), t), value = v.index({Slice(), Slice(), now});
    keys = keys.defined() ? torch::cat({keys, key}, 2) : key;
    values = values.defined() ? torch::cat({values, value}, 2) : value;
    rows.push_back(std::get<0>(attend(rotary(heads[0].index({Slice(), Slice(), now}), t), keys, values, {})));
  }
  std::cout << "with a cache: " << torch::allclose(torch::cat(rows, 2), y) << " " << keys.sizes() << "\n";

  const auto out = torch::einsum("bhtd,hde->bte", {y, wave({H, D, E}, 0.23)});
  std::cout << out.index({0}) << "\n";
  out.pow(2).sum().backward();
  std::cout << torch::einsum("bte->e", x.grad()) << "\n" << torch::einsum("cef,cef->c", {w.grad(), w.detach()}) << "\n";
  std::cout << torch::einsum("ii", torch::einsum("cij->ij", w.detach())) << " "
            << torch::einsum("...i,...i->...", {x.detach(), x.detach()}) << "\n";
  return 0;
}
