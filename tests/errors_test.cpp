// What the engine says of input that cannot be: the op, the values that clash, and what would be accepted.
#include <functional>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

struct Mistake {
  const char* name;
  std::function<void()> make;
  std::vector<std::string> words;  // all of them are in the message
};
void check(const std::vector<Mistake>& mistakes) {
  for (const Mistake& m : mistakes) {
    INFO(m.name);
    std::string message = "no error at all";
    try {
      m.make();
    } catch (const Error& error) {
      message = error.what();
    }
    for (const std::string& word : m.words) CHECK_THAT(message, Contains(word));
  }
}

}  // namespace

TEST_CASE("shapes that clash are named with their op", "[errors]") {
  const Tensor a = ones({2, 3}), b = ones({4, 5}), image = ones({1, 3, 8, 8});
  check({
      {"add", [&] { a + b; }, {"add", "(2, 3)", "(4, 5)"}},
      {"in place", [&] { ones({3}).add_(a); }, {"add_", "(3,)", "(2, 3)"}},
      {"matmul", [&] { matmul(a, b); }, {"matmul", "(2, 3)", "(4, 5)"}},
      {"mm", [&] { mm(a, image); }, {"mm", "(1, 3, 8, 8)"}},
      {"bmm", [&] { bmm(a, b); }, {"bmm", "(2, 3)"}},
      {"linear", [&] { nn::Linear(4, 2)(a); }, {"linear", "(2, 3)", "(2, 4)"}},
      {"conv2d, channels", [&] { nn::Conv2d(1, 2, 3)(image); }, {"conv2d", "(1, 3, 8, 8)", "(2, 1, 3, 3)"}},
      {"conv2d, kernel", [&] { nn::Conv2d(3, 2, 9)(image); }, {"conv2d", "(1, 3, 8, 8)", "9"}},
      {"conv2d, groups", [&] { nn::Conv2d(nn::Conv2dOptions(3, 4, 1).groups(2)); }, {"groups", "2", "3"}},
      {"max_pool2d", [&] { max_pool2d(a, 2); }, {"max_pool2d", "(2, 3)"}},
      {"batch norm", [&] { nn::BatchNorm2d(3)(a); }, {"BatchNorm2d", "(2, 3)"}},
      {"batch norm's parts", [&] { batch_norm(a, ones({3}), ones({2}), {}, {}, true); }, {"batch_norm", "(2,)", "3"}},
      {"running mean", [&] { batch_norm(a, {}, {}, ones({1}), ones({3}), false); }, {"running_mean", "(1,)", "3"}},
      {"bias",
       [&] {
         linear(a, ones({5, 3}), ones({4}));
       },
       {"linear", "(4,)", "5"}},
      {"bias of conv2d",
       [&] {
         conv2d(image, ones({2, 3, 1, 1}), ones({3}));
       },
       {"conv2d", "(3,)", "2"}},
      {"class weights", [&] { nll_loss(a, zeros({2}, kInt64), ones({2})); }, {"nll_loss", "(2,)", "3"}},
      {"layer norm", [&] { nn::LayerNorm(std::vector<int64_t>{5})(a); }, {"layer_norm", "(2, 3)", "(5,)"}},
      {"cat",
       [&] {
         cat({a, b});
       },
       {"cat", "(2, 3)", "(4, 5)"}},
      {"cat of nothing", [&] { cat({}); }, {"cat"}},
      {"stack",
       [&] {
         stack({a, b});
       },
       {"stack", "(2, 3)", "(4, 5)"}},
      {"view",
       [&] {
         a.view({4, 2});
       },
       {"view", "(2, 3)", "(4, 2)"}},
      {"reshape",
       [&] {
         a.reshape({-1, 4});
       },
       {"reshape", "(2, 3)", "(-1, 4)"}},
      {"expand",
       [&] {
         a.expand({5, 3});
       },
       {"expand", "(2, 3)", "(5, 3)"}},
      {"permute",
       [&] {
         a.permute({0, 0});
       },
       {"permute", "(0, 0)"}},
      {"narrow", [&] { a.narrow(1, 2, 2); }, {"narrow", "2", "(2, 3)"}},
      {"mse_loss", [&] { mse_loss(a, b); }, {"mse_loss", "(2, 3)", "(4, 5)"}},
      {"backward", [&] { a.clone().requires_grad_().mul(2).backward(b); }, {"backward", "(4, 5)", "(2, 3)"}},
      {"backward of many", [&] { a.clone().requires_grad_().mul(2).backward(); }, {"backward", "(2, 3)"}},
      {"item", [&] { a.item(); }, {"item", "(2, 3)"}},
      {"rows of unequal length",
       [&] {
         tensor({{1, 2}, {3}});
       },
       {"tensor", "(2,)", "(1,)"}},
      {"negative size",
       [&] {
         empty({2, -1});
       },
       {"empty", "(2, -1)"}},
      {"more than memory",
       [&] {
         empty({int64_t(1) << 62, 4});
       },
       {"empty", "4611686018427387904"}},
  });
}

TEST_CASE("dtypes that clash are named with their op", "[errors]") {
  const Tensor x = ones({2, 3}), ints = ones({2, 3}, kInt64);
  check({
      {"matmul", [&] { matmul(x, ints.t()); }, {"matmul", "float32", "int64"}},
      {"mean of integers", [&] { ints.mean(); }, {"mean", "int64", "floating point"}},
      {"gradient of integers", [&] { ints.requires_grad_(); }, {"requires_grad_", "int64"}},
      {"wrong pointer", [&] { x.data_ptr<double>(); }, {"data_ptr", "float64", "float32"}},
      {"index", [&] { x.index_select(0, x[0]); }, {"index_select", "float32"}},
      {"embedding", [&] { embedding(x, x); }, {"embedding", "float32"}},
      {"target", [&] { cross_entropy(x, zeros({2}, kInt32)); }, {"cross_entropy", "int32", "int64"}},
      {"in place", [&] { ones({2}, kInt64).add_(0.5); }, {"add_", "int64", "0.5"}},
      {"bitwise", [&] { x& x; }, {"bitwise_and", "float32"}},
  });
}

TEST_CASE("the checks of derivatives say which tensor they cannot take", "[errors]") {
  const autograd::GradcheckFunction square = [](const autograd::variable_list& in) -> autograd::variable_list {
    return {in[0] * in[0]};
  };
  const Tensor x = ones({2}).requires_grad_();
  check({
      {"first", [&] { autograd::gradcheck(square, {x}); }, {"gradcheck", "input 0", "float32", "float64 on the CPU"}},
      {"second", [&] { autograd::gradgradcheck(square, {x}); }, {"gradgradcheck", "input 0", "float32"}},
  });
  const Tensor wide = ones({2}, kFloat64).requires_grad_();
  const auto to = [](auto kind) -> autograd::GradcheckFunction {
    return [kind](const autograd::variable_list& in) -> autograd::variable_list { return {in[0].to(kind)}; };
  };
  check({
      {"narrow", [&] { autograd::gradcheck(to(kFloat32), {wide}); }, {"gradcheck", "output 0", "float32", "float64"}},
      {"twice", [&] { autograd::gradgradcheck(to(kFloat32), {wide}); }, {"gradgradcheck", "output 0", "float32"}},
  });
  if (!cuda::is_available()) return;
  const Tensor there = wide.detach().to(kCUDA).requires_grad_();
  check({
      {"on a GPU", [&] { autograd::gradgradcheck(square, {there}); }, {"gradgradcheck", "cuda:0", "on the CPU"}},
      {"to a GPU", [&] { autograd::gradcheck(to(kCUDA), {wide}); }, {"gradcheck", "output 0", "cuda:0", "on the CPU"}},
  });
}

TEST_CASE("indices and targets out of range are named", "[errors]") {
  const Tensor x = ones({2, 3});
  const auto labels = [](int64_t label) { return full({2}, label); };
  check({
      {"nll_loss", [&] { nll_loss(x, labels(3)); }, {"nll_loss", "3"}},
      {"cross_entropy", [&] { cross_entropy(x, labels(-1)); }, {"cross_entropy", "target 0", "-1", "0 to 2"}},
      {"one_hot", [&] { one_hot(labels(5), 3); }, {"one_hot", "5", "0 to 2"}},
      {"embedding", [&] { embedding(x, labels(2)); }, {"embedding", "2", "0 to 1"}},
      {"index_select", [&] { x.index_select(1, labels(7)); }, {"index_select", "7", "0 to 2"}},
      {"gather",
       [&] {
         x.gather(1, full({2, 1}, 9));
       },
       {"gather", "9"}},
      {"select", [&] { x[2]; }, {"select", "2"}},
      {"dimension", [&] { x.sum(2); }, {"sum", "2"}},
      {"size", [&] { x.size(-3); }, {"size", "-3"}},
      {"topk", [&] { x.topk(4); }, {"topk", "4", "(2, 3)"}},
  });
}

TEST_CASE("tensors and modules on the wrong device, and devices that are not there, are named", "[errors]") {
  set_cpu_device_count(2);
  const Tensor here = ones({2, 3}), there = ones({2, 3}, Device("cpu:1"));
  const auto both = std::vector<std::string>{" cpu", "cpu:1"};
  const auto with = [&](const char* op) {
    std::vector<std::string> words = both;
    words.push_back(op);
    return words;
  };
  nn::Linear layer(3, 1);
  nn::Conv2d convolution(1, 1, 1);
  nn::BatchNorm1d norm(3);
  check({
      {"add", [&] { here + there; }, with("add")},
      {"in place", [&] { here.clone().mul_(there); }, with("mul")},
      {"matmul", [&] { matmul(here, there.t()); }, with("matmul")},
      {"cat",
       [&] {
         cat({here, there});
       },
       with("cat")},
      {"stack",
       [&] {
         stack({here, there});
       },
       with("stack")},
      {"where", [&] { where(here > 0, here, there); }, with("where")},
      {"index_select", [&] { here.index_select(0, zeros({1}, TensorOptions(kInt64).device("cpu:1"))); },
       with("index_select")},
      {"module", [&] { layer(there); }, with("linear")},
      {"convolution",
       [&] {
         convolution(there.view({1, 1, 2, 3}));
       },
       with("conv2d")},
      {"norm", [&] { norm(there); }, with("batch_norm")},
      {"norm, evaluated",
       [&] {
         norm->eval();
         norm(there);
       },
       with("batch_norm")},
      {"layer norm", [&] { layer_norm(here, {3}, there[0]); }, with("layer_norm")},
      {"class weights", [&] { nll_loss(here, zeros({2}, kInt64), there[0]); }, with("nll_loss")},
      {"loss", [&] { cross_entropy(here, zeros({2}, TensorOptions(kInt64).device("cpu:1"))); }, both},
      {"mse", [&] { mse_loss(here, there); }, with("mse_loss")},
      {"backward", [&] { here.clone().requires_grad_().mul(2).backward(there); }, both},
      {"no such device", [&] { ones({1}, Device("cpu:2")); }, {"cpu:2", "there are 2"}},
      {"move there", [&] { here.to(Device("cpu:5")); }, {"cpu:5"}},
      {"module there", [&] { layer->to(Device("cpu:5")); }, {"cpu:5"}},
      {"no such name", [&] { Device("tpu:0"); }, {"tpu:0", "cpu"}},
  });
  set_cpu_device_count(1);
}

TEST_CASE("CUDA asked of a build without it says so", "[errors]") {
  if (cuda::is_available()) return;
  nn::Linear layer(3, 1);
  check({
      {"factory", [] { ones({1}, kCUDA); }, {"cuda:0", "no GPU"}},
      {"to", [] { ones({1}).to(kCUDA); }, {"cuda:0", "no GPU"}},
      {"module", [&] { layer->to(kCUDA); }, {"cuda:0", "no GPU"}},
  });
  CHECK(layer->weight.device() == Device(kCPU));
}

namespace {
/// Each call throws, and the message begins with the name of the op that was called, not of one that it is made of.
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
    CHECK(message.rfind(std::string(op) + ": ", 0) == 0);
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
      {"mean", [&] { x.mean({5}); }, {"mean: dimension 5"}},
      {"var",
       [&] {
         x.var({0, 0});
       },
       {"var: dimension 0 is named twice"}},
      {"std", [&] { x.to(kInt64).std(); }, {"std: dtype is int64; accepted: floating point"}},
      {"mT", [&] { row.mT(); }, {"mT: x is (3,); accepted: two dimensions or more"}},
      {"fill_", [&] { ones({3}).fill_(row); }, {"fill_: value is (3,); accepted: a tensor of no dimension"}},
      {"addmm",
       [&] {
         addmm(x, ones({2, 1}, kInt64), ones({1, 3}, kInt64), 0.5);
       },
       {"addmm: beta is 0.5", "int64"}},
      {"allclose", [&] { x.allclose(ones({4})); }, {"allclose", "(2, 3)", "(4,)"}},
      {"weights", [&] { binary_cross_entropy(unit, unit, ones({4})); }, {"binary_cross_entropy: ", "(2, 3)", "(4,)"}},
      {"weights of positives",
       [&] { binary_cross_entropy_with_logits(x, unit, {}, ones({4})); },
       {"binary_cross_entropy_with_logits: ", "(2, 3)", "(4,)"}},
      {"targets", [&] { binary_cross_entropy(unit, far); }, {"target holds values from 1.5 to 1.5; accepted: 0 to 1"}},
  });
}

TEST_CASE("parts of another dtype than the input are refused where PyTorch refuses them", "[errors]") {
  const Tensor x = ones({2, 3}), wide = ones({3}, kFloat64), half = ones({2, 3}, kFloat16), unit = ones({2, 3}) * 0.5;
  check({
      {"batch_norm",
       [&] { batch_norm(x, wide, {}, {}, {}, true); },
       {"batch_norm: weight is float64 and x is float32"}},
      {"layer_norm", [&] { layer_norm(half, {3}, {}, wide); }, {"bias is float64", "or it of float32"}},
      {"layer_norm, sizes",
       [&] {
         layer_norm(x, {3}, ones({1, 3}));
       },
       {"weight is (1, 3); accepted: (3,)"}},
      {"nll_loss", [&] { nll_loss(x, zeros({2}, kInt64), wide); }, {"nll_loss: weight is float64"}},
      {"class weights",
       [&] {
         nll_loss(ones({2, 1}), zeros({2}, kInt64), ones({}));
       },
       {"weight is ()", "(1,)"}},
      {"allclose",
       [&] {
         x.allclose(ones({2, 3}, kFloat64));
       },
       {"allclose: x is float32 and other is float64"}},
      {"target",
       [&] {
         binary_cross_entropy(unit, ones({2, 3}, kFloat64));
       },
       {"x is float32 and target is float64"}},
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
       {"batch_norm: x is (1, 0)"}},
      {"pools of no channels",
       [] {
         avg_pool2d(ones({0, 2, 2}), 2);
       },
       {"avg_pool2d: x is (0, 2, 2)"}},
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
      {"tensor_split", [&] { tensor_split(scalar, 2); }, {"tensor_split", "scalar"}},
      {"hsplit", [&] { hsplit(a, 2); }, {"hsplit", "(2, 3)", "2"}},
      {"vsplit", [&] { vsplit(v, 1); }, {"vsplit", "(3,)"}},
      {"diagonal", [&] { diagonal(a, 0, 1, -1); }, {"diagonal", "1"}},
      {"diag", [&] { diag(scalar); }, {"diag", "()"}},
      {"trace", [&] { trace(v); }, {"trace", "(3,)"}},
      {"repeat_interleave", [&] { repeat_interleave(ones({}), 2, 0); }, {"repeat_interleave", "dimension 0"}},
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
      {"hardtanh", [&] { hardtanh(v, 2, 1); }, {"hardtanh", "2", "1"}},
      {"glu", [&] { glu(v); }, {"glu", "(3,)"}},
      {"prelu", [&] { prelu(a, ones({2})); }, {"prelu", "(2,)", "(2, 3)"}},
      {"kthvalue", [&] { kthvalue(v, 4); }, {"kthvalue", "4", "3"}},
      {"quantile", [&] { quantile(v, 1.5); }, {"quantile", "1.5"}},
      {"quantile's choice", [&] { quantile(v, 0.5, 0, false, "cubic"); }, {"quantile", "cubic", "midpoint"}},
      {"cov", [&] { cov(a, 1, whole.to(kFloat32)); }, {"cov", "fweights", "float32"}},
      {"addmv", [&] { addmv(v, a, ones({2})); }, {"addmv", "(2, 3)", "(2,)"}},
      {"outer", [&] { outer(a, v); }, {"outer", "(2, 3)"}},
      {"cross", [&] { cross(ones({2}), ones({2})); }, {"cross", "(2,)"}},
      {"tensordot", [&] { tensordot(a, v, 0, 0); }, {"tensordot", "(2, 3)", "(3,)"}},
      {"einsum, operands", [&] { einsum("ij,jk", {a}); }, {"einsum", "ij,jk", "2", "1"}},
      {"einsum, ranks", [&] { einsum("ijk", {a}); }, {"einsum", "ijk", "(2, 3)"}},
      {"einsum, sizes",
       [&] {
         einsum("ij,ik", {a, a.t()});
       },
       {"einsum", "(3, 2)", "3", "2"}},
      {"einsum, signs", [&] { einsum("i?", {a}); }, {"einsum", "?"}},
      {"einsum, result", [&] { einsum("ij->k", {a}); }, {"einsum", "ij->k"}},
      {"multi_dot",
       [&] {
         linalg_multi_dot({a, a});
       },
       {"linalg_multi_dot", "(2, 3)"}},
      {"cdist",
       [&] {
         cdist(a, ones({2, 4}));
       },
       {"cdist", "(2, 3)", "(2, 4)"}},
  });
}

TEST_CASE("views of moved, split and diagonal elements share them and pass gradients on", "[errors][views]") {
  const Tensor x = zeros({3, 4}).requires_grad_(), y = x * 1;
  y.diagonal(1).fill_(5);
  y.movedim(0, 1).select(0, 0).add_(1);
  y.tensor_split(2, 1)[1].mul_(2);
  y.unflatten(1, {2, 2}).swapaxes(1, 2).select(1, 1).neg_();
  CHECK(y.equal(tensor({1., -5., 0., 0., 1., 0., 10., 0., 1., 0., 0., -10.}).to(kFloat32).view({3, 4})));
  y.sum().backward();
  CHECK(x.grad().equal(tensor({1., 0., 2., -2., 1., -1., 0., -2., 1., -1., 2., 0.}).to(kFloat32).view({3, 4})));
}
