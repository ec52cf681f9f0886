// Tests that an error names the operation that the user called, not an operation used to implement it.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/tandem.h"
#include "tandem/tests/mistakes.h"

using namespace tandem;
using tandem::test::check;

namespace {
/// Checks that each call throws an error whose message begins with the name of the called op, not of an op used to
/// implement it: "op: ", "op(): " or "op expects".
void check_begins(const std::vector<std::pair<const char*, std::function<void()>>>& calls) {
  for (size_t i = 0; i < calls.size(); ++i) {
    const auto& [op, call] = calls[i];
    std::string message = "no error at all";
    try {
      call();
    } catch (const Error& error) {
      message = error.what();
    }
    INFO("call " << i << " of " << op << ": " << message);
    const size_t end = std::string(op).size();
    CHECK(message.rfind(op, 0) == 0);
    CHECK((message.size() > end && std::string(":( ").find(message[end]) != std::string::npos));
  }
}
}  // namespace

TEST_CASE("an error names the op that was called: shapes and dimensions", "[errors]") {
  const Tensor x = ones({2, 3}), scalar = ones({}), five = ones({5}), none = zeros({0, 3}), wide = x.to(kFloat64);
  const Tensor mask = ones({5}, kBool), one = zeros({1}, kInt64);
  // clang-format off
  check_begins({
      {"sub", [&] { x - five; }},
      {"clamp", [&] { x.clamp(five); }},
      {"clamp", [&] { x.clamp({}, five); }},
      {"masked_fill", [&] { x.masked_fill(mask, 1); }},
      {"addmm", [&] { addmm(scalar, x, x); }},
      {"addmm", [&] { addmm(five, x, x.t()); }},
      {"addmm", [&] { addmm(scalar, x, wide.t()); }},
      {"dot", [&] { x[0].dot(five); }},
      {"dot", [&] { x[0].dot(wide[0]); }},
      {"mv", [&] { x.mv(five); }},
      {"mv", [&] { x.mv(wide[0]); }},
      {"matmul", [&] { scalar.matmul(x); }},
      {"linear", [&] { linear(scalar, x); }},
      {"argmax", [&] { x.argmax(5); }},
      {"argmin", [&] { x.argmin(5); }},
      {"argmax", [&] { none.argmax(); }},
      {"argmin", [&] { none.argmin(0); }},
      {"argsort", [&] { x.argsort(5); }},
      {"max", [&] { none.max(); }},
      {"min", [&] { none.min(); }},
      {"topk", [&] { scalar.topk(2); }},
      {"chunk", [&] { x.chunk(2, 5); }},
      {"chunk", [&] { scalar.chunk(2); }},
      {"unbind", [&] { x.unbind(5); }},
      {"unbind", [&] { scalar.unbind(); }},
      {"unflatten", [&] { scalar.unflatten(0, {1}); }},
      {"gather", [&] { scalar.gather(0, one + 1); }},
      {"scatter_add", [&] { x.scatter_add(0, zeros({2, 3}, kInt64) + 7, x); }},
      {"scatter", [&] { x.scatter(0, zeros({2, 3}, kInt64), five); }},
      {"index_select", [&] { scalar.index_select(0, zeros({2}, kInt64)); }},
      {"index_add", [&] { scalar.index_add(0, one, five); }},
      {"embedding", [&] { embedding(x, one + 7); }},
      {"one_hot", [&] { one_hot(zeros({0}, kInt64)); }},
      {"index", [&] { x.index({9}); }},
      {"index", [&] { x.index({one + 9}); }},
      {"index", [&] { x.index({indexing::Slice(0, 1, 0)}); }},
      {"index_put_", [&] { x.clone().index_put_({0}, five); }},
      {"index_put_", [&] { x.clone().index_put_({one + 9}, scalar); }},
      {"index_put_", [&] { x.clone().index_put_({x > 2}, five); }},
      {"index_put_", [&] { x.clone().index_put_({ones({1}, kBool)}, scalar); }},
      {"cat", [&] { cat({x, scalar}); }},
      {"ones", [&] { ones({2, -1}); }},
      {"eye", [&] { eye(-1); }},
      {"randint", [&] { randint(5, 5, {1}); }},
  });
  // clang-format on
}

TEST_CASE("an error names the op that was called: in place", "[errors]") {
  const Tensor five = ones({5}), mask = ones({5}, kBool), wide = ones({4, 2, 3}, kBool);
  Tensor x = ones({2, 3}), leaf = ones({2, 3}).requires_grad_(), i = ones({2, 3}, kInt64), u = ones({2}, kUInt8),
         b = ones({2}, kBool);
  // clang-format off
  check_begins({
      {"add_", [&] { x.add_(five); }},
      {"sub_", [&] { x.sub_(five); }},
      {"mul_", [&] { x.mul_(five); }},
      {"div_", [&] { x.div_(five); }},
      {"masked_fill_", [&] { x.masked_fill_(mask, 1); }},
      {"masked_fill_", [&] { x.masked_fill_(wide, 1); }},
      {"masked_fill_", [&] { x.masked_fill_(x, 1); }},
      {"masked_fill_", [&] { u.masked_fill_(b, 300); }},
      {"clamp_", [&] { x.clamp_(std::optional<Scalar>()); }},
      {"sub_", [&] { leaf.sub_(1); }},
      {"zero_", [&] { leaf.zero_(); }},
      {"index_put_", [&] { leaf.index_put_({0}, ones({})); }},
      {"index_put_", [&] { leaf.index_put_({leaf > 2}, ones({})); }},
      {"sub_", [&] { i.sub_(x); }},
      {"sub_", [&] { i.sub_(1.5); }},
      {"neg_", [&] { b.neg_(); }},
      {"relu_", [&] { b.relu_(); }},
      {"fill_", [&] { u.fill_(300); }},
      {"full", [&] { full({1}, 300, kUInt8); }},
      {"tensor", [&] { tensor({300}, kUInt8); }},
      {"dropout2d", [&] { dropout2d(i); }},
      {"dropout2d", [&] { dropout2d(x, 2); }},
  });
  // clang-format on
}

TEST_CASE("an op that is made of others is named itself", "[errors]") {
  const Tensor x = ones({2, 3}), row = ones({3}), half = ones({2, 3}, kFloat16);
  const Tensor unit = ones({2, 3}) * 0.5, far = unit + 1;
  check({
      {"mean", [&] { x.mean({5}); }, {"mean: Dimension out of range (expected to be in range of [-2, 1], but got 5)"}},
      {"var",
       [&] {
         x.var({0, 0});
       },
       {"var: dim 0 appears multiple times in the list of dims"}},
      {"std",
       [&] { x.to(kInt64).std(); },
       {"std: std and var only support floating point and complex dtypes, got int64"}},
      {"mT", [&] { row.mT(); }, {"tensor.mT is only supported on matrices or batches of matrices. Got 1-D tensor."}},
      {"fill_",
       [&] { ones({3}).fill_(row); },
       {"fill_ only supports 0-dimension value tensor but got tensor with 1 dimensions."}},
      {"addmm",
       [&] {
         addmm(x, ones({2, 1}, kInt64), ones({1, 3}, kInt64), 0.5);
       },
       {"addmm: For integral input tensors, argument beta must not be a floating point number.", "0.5", "int64"}},
      {"allclose", [&] { x.allclose(ones({4})); }, {"allclose", "(2, 3)", "(4,)"}},
      {"weights", [&] { binary_cross_entropy(unit, unit, ones({4})); }, {"binary_cross_entropy: ", "(2, 3)", "(4,)"}},
      {"weights of positives",
       [&] { binary_cross_entropy_with_logits(x, unit, {}, ones({4})); },
       {"binary_cross_entropy_with_logits: ", "(2, 3)", "(4,)"}},
      {"targets",
       [&] { binary_cross_entropy(unit, far); },
       {"all elements of target should be between 0 and 1, got values from 1.5 to 1.5"}},
  });
}

TEST_CASE("parts of another dtype than the input are refused where PyTorch refuses them", "[errors]") {
  const Tensor x = ones({2, 3}), wide = ones({3}, kFloat64), half = ones({2, 3}, kFloat16), unit = ones({2, 3}) * 0.5;
  check({
      {"batch_norm",
       [&] { batch_norm(x, wide, {}, {}, {}, true); },
       {"batch_norm: expected x and weight to have the same dtype, but got: float32 != float64"}},
      {"layer_norm",
       [&] { layer_norm(half, {3}, {}, wide); },
       {"expected x and bias to have the same dtype", "float32 is accepted too"}},
      {"layer_norm, sizes",
       [&] {
         layer_norm(x, {3}, ones({1, 3}));
       },
       {"Expected weight to be of same shape as normalized_shape, but got weight of shape (1, 3)"}},
      {"nll_loss",
       [&] { nll_loss(x, zeros({2}, kInt64), wide); },
       {"nll_loss: expected x and weight to have the same dtype, but got: float32 != float64"}},
      {"class weights",
       [&] {
         nll_loss(ones({2, 1}), zeros({2}, kInt64), ones({}));
       },
       {"weight tensor should be defined either for all 1 classes or no classes but got weight tensor of shape: ()"}},
      {"allclose",
       [&] {
         x.allclose(ones({2, 3}, kFloat64));
       },
       {"allclose: expected x and other to have the same dtype, but got: float32 != float64"}},
      {"target",
       [&] {
         binary_cross_entropy(unit, ones({2, 3}, kFloat64));
       },
       {"expected x and target to have the same dtype, but got: float32 != float64"}},
      {"target beside logits",
       [&] {
         binary_cross_entropy_with_logits(x, ones({2, 3}, kInt64));
       },
       {"target is int64; accepted: floating point"}},
  });
  CHECK(batch_norm(half, ones({3}), zeros({3}), {}, {}, true).dtype() == kFloat16);
  CHECK(binary_cross_entropy_with_logits(x, unit, {}, wide).dtype() == kFloat32);
}

TEST_CASE("of nothing nothing is out of range but an index", "[errors]") {
  check({
      {"rows of nothing",
       [] {
         ones({1, 0}).index_select(0, tensor({5}));
       },
       {"index_select: index 0 is 5"}},
      {"rows that are added to none",
       [] {
         ones({0, 2}).index_add(0, tensor({0}), ones({1, 2}));
       },
       {"index 0 is 0"}},
      {"one row of no channels",
       [] {
         batch_norm(ones({1, 0}), {}, {}, {}, {}, true);
       },
       {"batch_norm: Expected more than 1 value per channel when training, got input size (1, 0)"}},
      {"pools of no channels",
       [] {
         avg_pool2d(ones({0, 2, 2}), 2);
       },
       {"avg_pool2d: Expected 3D or 4D (batch mode) tensor", "(0, 2, 2)"}},
  });
  CHECK(batch_norm(ones({2, 0}), {}, {}, {}, {}, true).numel() == 0);
  CHECK(linspace(2.5, -3, 0, kUInt8).numel() == 0);
  CHECK(rand({0}, kInt64).dtype() == kInt64);
  CHECK(ones({1}).expand({0}).clamp_(0.0).numel() == 0);
}

TEST_CASE("operations made of others refuse in their own names", "[errors]") {
  const Tensor a = ones({2, 3}), v = ones({3}), scalar = ones({}), whole = ones({3}, kInt64);
  check({
      {"flip",
       [&] {
         flip(a, {0, -2});
       },
       {"flip", "(0, -2)"}},
      {"roll",
       [&] {
         roll(a, {1, 2}, 0);
       },
       {"roll", "(1, 2)", "(0,)"}},
      {"rot90", [&] { rot90(v); }, {"rot90", "(3,)"}},
      {"movedim",
       [&] {
         movedim(a, {0, 0}, {0, 1});
       },
       {"movedim", "(0, 0)"}},
      {"tensor_split", [&] { tensor_split(scalar, 2); }, {"tensor_split", "0 dims"}},
      {"hsplit", [&] { hsplit(a, 2); }, {"hsplit", "(2, 3)", "2"}},
      {"vsplit", [&] { vsplit(v, 1); }, {"vsplit", "(3,)"}},
      {"diagonal", [&] { diagonal(a, 0, 1, -1); }, {"diagonal", "1"}},
      {"diag", [&] { diag(scalar); }, {"diag", "()"}},
      {"trace", [&] { trace(v); }, {"trace", "(3,)"}},
      {"repeat_interleave",
       [&] { repeat_interleave(ones({}), 2, 0); },
       {"repeat_interleave", "Dimension specified as 0"}},
      {"repeat_interleave", [&] { repeat_interleave(v, ones({2}, kInt64), 0); }, {"repeat_interleave", "2", "3"}},
      {"meshgrid",
       [&] {
         meshgrid({a, v});
       },
       {"meshgrid", "(2, 3)"}},
      {"meshgrid's indexing", [&] { meshgrid({v}, "ji"); }, {"meshgrid", "ji"}},
      {"lerp", [&] { lerp(whole, whole, 0.5); }, {"lerp", "int64"}},
      {"addcmul of bools", [&] { addcmul(whole > 0, whole > 0, whole > 0); }, {"addcmul", "bool"}},
      {"addcmul beyond int8",
       [&] {
         const Tensor small = whole.to(kInt8);
         addcmul(small, small, small, 300);
       },
       {"300", "int8"}},
      {"median of bools", [&] { median(whole > 0); }, {"median", "bool"}},
      {"abs_out of another dtype",
       [&] {
         Tensor out = whole.to(kInt32);
         abs_out(out, whole);
       },
       {"abs_out", "int32", "int64"}},
      {"addcdiv", [&] { addcdiv(whole, whole, whole); }, {"addcdiv", "int64"}},
      {"lerp in place", [&] { v.clone().lerp_(a, 0.5); }, {"lerp_", "(3,)", "(2, 3)"}},
      {"heaviside", [&] { heaviside(v, whole); }, {"heaviside", "float32", "int64"}},
      {"glu", [&] { glu(v); }, {"glu: Halving dimension must be even, but dimension 0 is size 3"}},
      {"prelu",
       [&] { prelu(a, ones({2})); },
       {"prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = 2 and channel size = "
        "3."}},
      {"kthvalue", [&] { kthvalue(v, 4); }, {"kthvalue", "4", "3"}},
      {"quantile", [&] { quantile(v, 1.5); }, {"quantile", "1.5"}},
      {"quantile's choice", [&] { quantile(v, 0.5, 0, false, "cubic"); }, {"quantile", "cubic", "midpoint"}},
      {"cov", [&] { cov(a, 1, whole.to(kFloat32)); }, {"cov", "fweights", "float32"}},
      {"addmv", [&] { addmv(v, a, ones({2})); }, {"addmv: size mismatch, got input (2), mat (2x3), vec (2)"}},
      {"outer", [&] { outer(a, v); }, {"outer: Expected 1-D argument self, but got 2-D"}},
      {"cross", [&] { cross(ones({2}), ones({2})); }, {"cross", "(2,)"}},
      {"tensordot",
       [&] { tensordot(a, v, 0, 0); },
       {"tensordot: contracted dimensions need to match, but first has size 2 in dim 0 and second has size 3 in dim "
        "0"}},
      {"einsum, operands",
       [&] { einsum("ij,jk", {a}); },
       {"einsum: fewer operands were provided than specified in the equation", "got 1", "ij,jk"}},
      {"einsum, ranks",
       [&] { einsum("ijk", {a}); },
       {"einsum: the number of subscripts in the equation (3) does not match the number of dimensions (2) for operand "
        "0"}},
      {"einsum, sizes",
       [&] {
         einsum("ij,ik", {a, a.t()});
       },
       {"einsum: subscript i has size 3 for operand 1 which does not broadcast with previously seen size 2"}},
      {"einsum, signs",
       [&] { einsum("i?", {a}); },
       {"einsum: invalid subscript given at index 1 in the equation string, subscripts must be in [a-zA-Z]", "'?'"}},
      {"einsum, result",
       [&] { einsum("ij->k", {a}); },
       {"einsum: output subscript k does not appear in the equation for any input operand"}},
      {"multi_dot",
       [&] {
         linalg_multi_dot({a, a});
       },
       {"linalg_multi_dot", "(2, 3)"}},
      {"cdist",
       [&] {
         cdist(a, ones({2, 4}));
       },
       {"cdist: X1 and X2 must have the same number of columns. X1: 3 X2: 4"}},
  });
}
