// Calls that throw, and similar calls that do not.
#include <torch/torch.h>

#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using torch::indexing::Slice;

int main() {
  const torch::Tensor x = torch::arange(6, torch::kFloat).view({2, 3}), i = torch::tensor({0, 1}),
                      e = torch::zeros({0});
  const torch::Tensor d = x.to(torch::kDouble), mask = torch::tensor({true, false});
  const std::vector<std::pair<std::string, std::function<torch::Tensor()>>> calls = {
      {"view of fitting sizes",
       [&] {
         return x.view({3, 2});
       }},
      {"view of too few", [&] { return x.view({5}); }},
      {"view with two unknown",
       [&] {
         return x.view({-1, -1});
       }},
      {"view of what lies apart", [&] { return x.t().view({6}); }},
      {"view of -1 and 0",
       [&] {
         return e.view({-1, 0});
       }},
      {"reshape of what lies apart", [&] { return x.t().reshape({6}); }},
      {"select beyond", [&] { return x.select(0, 2); }},
      {"select from behind", [&] { return x.select(0, -2); }},
      {"select dimension 2", [&] { return x.select(2, 0); }},
      {"narrow too long", [&] { return x.narrow(1, 2, 2); }},
      {"narrow to nothing", [&] { return x.narrow(1, 3, 0); }},
      {"slice beyond", [&] { return x.slice(1, 2, 100); }},
      {"slice backwards", [&] { return x.index({Slice(torch::indexing::None, torch::indexing::None, -1)}); }},
      {"too many indices",
       [&] {
         return x.index({0, 0, 0});
       }},
      {"an index of float", [&] { return x.index({x}); }},
      {"an index out of range", [&] { return x.index({i + 1}); }},
      {"a mask too long", [&] { return x.index({torch::ones({3}, torch::kBool)}); }},
      {"a mask of a row", [&] { return x.index({mask}); }},
      {"element of a number", [&] { return torch::tensor(1)[0]; }},
      {"sizes that broadcast", [&] { return x + torch::ones({3}); }},
      {"sizes that do not", [&] { return x + torch::ones({2}); }},
      {"in place into a smaller one", [&] { return torch::ones({3}).add_(x); }},
      {"expand of 2 to 3", [&] { return torch::ones({2}).expand({3}); }},
      {"expand to fewer dimensions", [&] { return x.expand({3}); }},
      {"cat of other sizes",
       [&] {
         return torch::cat({x, x.t()});
       }},
      {"cat with an empty vector",
       [&] {
         return torch::cat({x, e});
       }},
      {"cat of nothing", [&] { return torch::cat(std::vector<torch::Tensor>{}); }},
      {"stack of other sizes",
       [&] {
         return torch::stack({x, x.t()});
       }},
      {"split into zero", [&] { return x.split(0)[0]; }},
      {"chunk into more than there are", [&] { return x.chunk(5)[0]; }},
      {"permute with a dimension twice",
       [&] {
         return x.permute({0, 0});
       }},
      {"transpose of dimension 5", [&] { return x.transpose(0, 5); }},
      {"t of three dimensions", [&] { return x.unsqueeze(0).t(); }},
      {"squeeze of dimension 3", [&] { return x.squeeze(3); }},
      {"unsqueeze at the end", [&] { return x.unsqueeze(2); }},
      {"unsqueeze beyond", [&] { return x.unsqueeze(4); }},
      {"flatten backwards", [&] { return x.flatten(1, 0); }},
      {"unflatten that does not fit",
       [&] {
         return x.unflatten(1, {2, 2});
       }},
      {"mm of vectors", [&] { return i.mm(i); }},
      {"matmul of numbers", [&] { return torch::tensor(1.0).matmul(torch::tensor(2.0)); }},
      {"mv of other sizes", [&] { return x.mv(torch::ones({2})); }},
      {"dot of two dtypes", [&] { return x[0].dot(d[0]); }},
      {"bmm of other batches",
       [&] {
         return torch::ones({2, 1, 1}).bmm(torch::ones({3, 1, 1}));
       }},
      {"einsum of unknown letters", [&] { return torch::einsum("ij->k", {x}); }},
      {"einsum of too many letters", [&] { return torch::einsum("ijk->i", {x}); }},
      {"max of nothing", [&] { return e.max(); }},
      {"sum of nothing", [&] { return e.sum(); }},
      {"argmax of an empty dimension",
       [&] {
         return torch::zeros({0, 2}).argmax(0);
       }},
      {"mean of integers", [&] { return i.mean(); }},
      {"mean of integers as float", [&] { return i.mean(torch::kFloat); }},
      {"softmax of integers", [&] { return i.softmax(0); }},
      {"topk of more than there are", [&] { return std::get<0>(x.topk(4)); }},
      {"kthvalue 0", [&] { return std::get<0>(x.kthvalue(0)); }},
      {"gather with a float index", [&] { return x.gather(0, x); }},
      {"gather with fewer dimensions", [&] { return x.gather(1, i); }},
      {"scatter of another dtype",
       [&] {
         return x.scatter(0, i.view({1, 2}), d);
       }},
      {"index_select with two dimensions",
       [&] {
         return x.index_select(0, i.view({1, 2}));
       }},
      {"index_put of other sizes", [&] { return x.clone().index_put_({i}, torch::ones({2})); }},
      {"masked_fill with a tensor of two", [&] { return x.masked_fill(x > 2, torch::ones({2})); }},
      {"where of a float condition", [&] { return torch::where(x, x, x); }},
      {"bits of floats", [&] { return x & 1; }},
      {"shift of floats", [&] { return torch::bitwise_left_shift(x, 1); }},
      {"not of floats", [&] { return ~x; }},
      {"division of an integer in place", [&] { return torch::ones({2}, torch::kInt).div_(2); }},
      {"division by zero of integers", [&] { return torch::remainder(i, 0); }},
      {"negative power of an integer", [&] { return i.pow(-1); }},
      {"minus of two masks", [&] { return mask - mask; }},
      {"plus of two masks", [&] { return mask + mask; }},
      {"arange of a wrong sign", [&] { return torch::arange(0, 5, -1); }},
      {"arange of step 0", [&] { return torch::arange(0, 5, 0); }},
      {"linspace of -1 steps", [&] { return torch::linspace(0, 1, -1); }},
      {"eye of -1", [&] { return torch::eye(-1); }},
      {"zeros of a negative size",
       [&] {
         return torch::zeros({2, -3});
       }},
      {"full of a bool", [&] { return torch::full({1}, true); }},
      {"one_hot of negatives", [&] { return torch::one_hot(i - 1); }},
      {"one_hot of too few classes", [&] { return torch::one_hot(i, 1); }},
      {"bincount of negatives", [&] { return (i - 1).bincount(); }},
      {"inverse of a singular matrix",
       [&] {
         return torch::linalg_inv(torch::zeros({2, 2}));
       }},
      {"inverse of what is not square", [&] { return torch::inverse(x); }},
      {"cholesky of what is not positive", [&] { return torch::linalg_cholesky(-torch::eye(2)); }},
      {"det of three by two", [&] { return torch::det(x); }},
      {"cross of two dimensions", [&] { return torch::linalg_cross(x.t(), x.t()); }},
      {"conv2d of other channels",
       [&] {
         return torch::conv2d(torch::ones({1, 2, 3, 3}), torch::ones({1, 3, 2, 2}));
       }},
      {"a kernel larger than the image",
       [&] {
         return torch::conv2d(torch::ones({1, 1, 2, 2}), torch::ones({1, 1, 3, 3}));
       }},
      {"max_pool2d of two dimensions", [&] { return torch::max_pool2d(x, 2); }},
      {"embedding beyond", [&] { return torch::embedding(x, i + 1); }},
      {"cross_entropy of a class too many", [&] { return torch::cross_entropy_loss(x, i + 2); }},
      {"bce of 2", [&] { return torch::binary_cross_entropy(x, x); }},
      {"item of two", [&] { return torch::tensor(x.item<float>()); }},
      {"as_strided beyond the storage",
       [&] {
         return x.as_strided({3, 3}, {3, 1});
       }},
      {"set of an undefined tensor", [&] { return torch::Tensor().sum(); }},
      {"unfold of too much", [&] { return x.unfold(1, 4, 1); }},
      {"repeat of too few", [&] { return x.repeat({2}); }},
      {"flip of a dimension twice",
       [&] {
         return x.flip({0, 0});
       }},
      {"roll of two by one",
       [&] {
         return x.roll({1, 2}, {0});
       }},
      {"tensordot of other sizes", [&] { return torch::tensordot(x, x, {0}, {1}); }},
      {"searchsorted of other dtypes", [&] { return torch::searchsorted(x, d); }},
      {"quantile of 2", [&] { return torch::quantile(x, 2.0); }},
      {"multinomial of too many", [&] { return torch::multinomial(torch::ones({2}), 3); }},
      {"bernoulli of 2", [&] { return torch::bernoulli(torch::full({1}, 2.0)); }},
      {"channels_last of three dimensions", [&] { return x.contiguous(torch::MemoryFormat::ChannelsLast); }},
      {"view as double of three floats", [&] { return x.view(torch::kDouble); }},
  };
  for (const auto& [name, call] : calls) {
    std::cout << name << ": ";
    try {
      std::cout << call().sizes() << "\n";
    } catch (const c10::Error&) {
      std::cout << "refused\n";
    } catch (const std::exception&) {
      std::cout << "another exception\n";
    }
  }
  return 0;
}
