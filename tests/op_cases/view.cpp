// Op cases of views, joins, splits and in-place operations.
#include "tandem/ops/shape/view.h"
#include "tandem/ops/elementwise/clamp.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/unary.h"
#include "tandem/ops/index/index_put.h"
#include "tandem/ops/index/tensor_index.h"
#include "tandem/ops/nn/activation.h"
#include "tandem/ops/nn/embedding.h"
#include "tandem/ops/shape/as_strided.h"
#include "tandem/ops/shape/cat.h"
#include "tandem/ops/shape/clone.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/expand.h"
#include "tandem/ops/shape/flatten.h"
#include "tandem/ops/shape/select_slice.h"
#include "tandem/ops/shape/split.h"
#include "tandem/ops/shape/squeeze.h"
#include "tandem/ops/shape/transpose.h"
#include "tandem/ops/shape/unfold.h"
#include "tandem/tests/op_cases/families.h"

namespace tandem::test {
namespace {

/// Applies `change` in place to a copy of a, so that autograd must rebase the copy's history.
template <class F> Tensor changed(const Tensor& a, F change) {
  Tensor y = a.clone();
  change(y);
  return y;
}
constexpr const char* kLayout = "asks for strides that fit";

constexpr OpCase kViewCases[] = {
    {"view",
     [](In in) {
       return in[0].view({4, -1});
     },
     {.integers = true, .view = true, .no_strided = kLayout}},
    {"reshape",
     [](In in) {
       return in[0].reshape({5, 12});
     },
     {.integers = true, .view = true, .no_empty = "names 60 elements"}},
    {"reshape/copy", [](In in) { return in[0].transpose(0, 2).reshape({-1}); }, {.integers = true}},
    {"flatten", [](In in) { return flatten(in[0]); }, {.integers = true, .view = true}},
    {"flatten/from_one", [](In in) { return flatten(in[0], 1); }, {.integers = true, .view = true}},
    {"flatten/vector", [](In in) { return flatten(in[0]); }, {.integers = true, .view = true}},
    {"unflatten",
     [](In in) {
       return in[0].unflatten(1, {2, -1});
     },
     {.integers = true, .view = true}},
    {"transpose", [](In in) { return transpose(in[0], 0, -1); }, {.integers = true, .view = true}},
    {"t", [](In in) { return in[0].t(); }, {.integers = true, .view = true}},
    {"t/vector", [](In in) { return in[0].t(); }, {.integers = true, .view = true}},
    {"permute",
     [](In in) {
       return permute(in[0], {2, 0, 1});
     },
     {.integers = true, .view = true}},
    {"narrow", [](In in) { return narrow(in[0], 1, 1, 2); }, {.integers = true, .view = true}},
    {"select", [](In in) { return select(in[0], 1, -2); }, {.integers = true, .view = true}},
    {"slice", [](In in) { return in[0].slice(2, 1, 5, 2); }, {.integers = true, .view = true}},
    {"slice/open", [](In in) { return in[0].slice(0, -2); }, {.integers = true, .view = true}},
    {"expand",
     [](In in) {
       return in[0].expand({2, 3, 4, 5});
     },
     {.integers = true, .view = true, .no_empty = "names the rows"}},
    {"expand/keep",
     [](In in) {
       return in[0].expand({-1, 4, -1});
     },
     {.integers = true, .view = true}},
    {"unsqueeze", [](In in) { return unsqueeze(in[0], -1); }, {.integers = true, .view = true}},
    {"squeeze", [](In in) { return squeeze(in[0]); }, {.integers = true, .view = true}},
    {"squeeze/dim", [](In in) { return squeeze(in[0], 0); }, {.integers = true, .view = true}},
    {"as_strided",
     [](In in) {
       return in[0].as_strided({3, 3}, {2, 1}, 1);
     },
     {.integers = true,
      .view = true,
      .no_strided = "reads the storage by strides of its own",
      .no_empty = "reads the storage"}},
    {"chunk", [](In in) { return chunk(in[0], 3, 2); }, {.integers = true, .view = true}},
    {"chunk/none", [](In in) { return chunk(in[0], 4); }, {.integers = true, .view = true}},
    {"split", [](In in) { return split(in[0], 2, 1); }, {.integers = true, .view = true}},
    {"split/sizes",
     [](In in) {
       return in[0].split({1, 4}, 2);
     },
     {.integers = true, .view = true}},
    {"unbind", [](In in) { return unbind(in[0], 1); }, {.integers = true, .view = true}},
    {"repeat",
     [](In in) {
       return in[0].repeat({2, 1, 3});
     },
     {.integers = true}},
    {"repeat/ones",
     [](In in) {
       return in[0].repeat({1, 1});
     },
     {.integers = true}},
    {"repeat/one_element", [](In in) { return in[0].repeat(5); }, {.integers = true}},
    {"repeat/many",
     [](In in) {
       return in[0].repeat({1, 2, 3, 2, 1, 2});
     },
     {.integers = true}},
    {"detach",
     [](In in) { return in[0].detach() * in[0]; },
     {.integers = true, .no_gradcheck = "hides a dependence, which is its purpose"}},
    {"cat",
     [](In in) {
       return cat({in[0], in[1]}, 1);
     },
     {.integers = true}},
    {"cat/three",
     [](In in) {
       return cat({in[0], in[1], in[2]}, -1);
     },
     {.integers = true}},
    {"cat/empty",
     [](In in) {
       return cat({in[0], in[1]}, 0);
     },
     {.integers = true}},
    {"cat/without_dims",
     [](In in) {
       return cat({in[0], in[1]}, 1);
     },
     {.integers = true}},
    {"stack",
     [](In in) {
       return stack({in[0], in[1]}, 0);
     },
     {.integers = true}},
    {"stack/last",
     [](In in) {
       return stack({in[0], in[1]}, -1);
     },
     {.integers = true}},
    // ---- in place
    {"add_", [](In in) { return changed(in[0], [&](Tensor& y) { y.add_(in[1], 0.5); }); }},
    {"sub_", [](In in) { return changed(in[0], [&](Tensor& y) { y.sub_(in[1]); }); }, {.integers = true}},
    {"mul_", [](In in) { return changed(in[0], [&](Tensor& y) { y.mul_(in[1]); }); }, {.integers = true}},
    {"mul_/view",
     [](In in) { return changed(in[0], [&](Tensor& y) { y.narrow(0, 1, 2).mul_(in[1]); }); },
     {.integers = true, .no_empty = "names the rows"}},
    {"div_", [](In in) { return changed(in[0], [&](Tensor& y) { y.div_(in[1]); }); }},
    {"copy_", [](In in) { return changed(in[0], [&](Tensor& y) { y.copy_(in[1]); }); }, {.integers = true}},
    {"copy_/view",
     [](In in) { return changed(in[0], [&](Tensor& y) { y.select(1, 2).copy_(in[1]); }); },
     {.integers = true, .no_empty = "the two have different ranks"}},
    {"fill_/view",
     [](In in) { return changed(in[0], [](Tensor& y) { y.select(0, 1).fill_(0.5); }); },
     {.no_empty = "names a row"}},
    {"zero_/view",
     [](In in) { return changed(in[0], [](Tensor& y) { y.narrow(2, 0, 2).zero_(); }); },
     {.integers = true}},
    {"relu_", [](In in) { return changed(in[0], [](Tensor& y) { y.relu_(); }); }, {.integers = true}},
    {"exp_", [](In in) { return changed(in[0], [](Tensor& y) { y.exp_(); }); }},
    {"sqrt_", [](In in) { return changed(in[0], [](Tensor& y) { y.sqrt_(); }); }},
    {"neg_", [](In in) { return changed(in[0], [](Tensor& y) { y.neg_(); }); }, {.integers = true}},
    {"sigmoid_", [](In in) { return changed(in[0], [](Tensor& y) { y.sigmoid_(); }); }},
    {"tanh_", [](In in) { return changed(in[0], [](Tensor& y) { y.tanh_(); }); }},
    {"clamp_", [](In in) { return changed(in[0], [](Tensor& y) { y.clamp_(-0.5, 0.25); }); }},
    {"masked_fill_", [](In in) { return changed(in[0], [&](Tensor& y) { y.masked_fill_(in[1], 0.5); }); }},
    {"index_put_",
     [](In in) { return changed(in[0], [&](Tensor& y) { y.index_put_({in[1]}, in[2]); }); },
     {.integers = true, .no_empty = "an index of no rows"}},
    {"unfold", [](In in) { return in[0].unfold(1, 2, 1); }, {.integers = true, .view = true}},
    {"unfold/apart", [](In in) { return in[0].unfold(-1, 2, 3); }, {.integers = true, .view = true}},
    {"unfold/scalar", [](In in) { return in[0].unfold(0, 1, 1); }, {.integers = true, .view = true}},
    {"squeeze/dims",
     [](In in) {
       return squeeze(in[0], {0, 1, 2});
     },
     {.integers = true, .view = true}},
    {"slice/free", [](In in) { return slice(in[0], 1, 1, 4, 2); }, {.integers = true, .view = true}},
    {"split_with_sizes",
     [](In in) {
       return split_with_sizes(in[0], {1, 3}, 1);
     },
     {.integers = true, .view = true}},
    {"unsafe_chunk", [](In in) { return unsafe_chunk(in[0], 2, 1); }, {.integers = true}},
    {"unsafe_split", [](In in) { return unsafe_split(in[0], 2, 1); }, {.integers = true}},
    {"unsafe_split_with_sizes",
     [](In in) {
       return unsafe_split_with_sizes(in[0], {1, 3}, 1);
     },
     {.integers = true}},
    {"adjoint", [](In in) { return adjoint(in[0]); }, {.integers = true, .view = true}},
    {"mH", [](In in) { return in[0].mH(); }, {.integers = true, .view = true}},
    {"matrix_H", [](In in) { return in[0].matrix_H(); }, {.integers = true, .view = true}},
    {"alias", [](In in) { return alias(in[0]); }, {.integers = true, .view = true}},
    {"sum_to_size",
     [](In in) {
       return in[0].sum_to_size({4, 1});
     },
     {.no_storage = "the sum, reshaped, which is a view of nothing that the caller has"}},
    {"squeeze_", [](In in) { return (in[0] * 1).squeeze_() * 2; }, {.integers = true}},
    {"squeeze_/dim", [](In in) { return (in[0] * 1).squeeze_(1) * 2; }, {.integers = true}},
    {"unsqueeze_", [](In in) { return (in[0] * 1).unsqueeze_(1) * 2; }, {.integers = true}},
    {"transpose_", [](In in) { return (in[0] * 1).transpose_(0, 2) * 2; }, {.integers = true}},
    {"swapaxes_", [](In in) { return (in[0] * 1).swapaxes_(0, 1) * 2; }, {.integers = true}},
    {"swapdims_", [](In in) { return (in[0] * 1).swapdims_(0, 1) * 2; }, {.integers = true}},
    {"t_", [](In in) { return (in[0] * 1).t_() * 2; }, {.integers = true}},
    {"as_strided_",
     [](In in) {
       return (in[0].contiguous() * 1).as_strided_({3, 2}, {2, 3}, 1) * 2;
     },
     {.no_empty = "reaches what is not there"}},
};
}  // namespace
const Family kView{"view", kViewCases};

}  // namespace tandem::test
