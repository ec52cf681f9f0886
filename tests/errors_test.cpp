// Tests the error messages for invalid arguments: they name the op, the clashing values, and what would be accepted.
#include <functional>

#include "tandem/tandem.h"
#include "tandem/tests/mistakes.h"

using namespace tandem;
using tandem::test::check;

TEST_CASE("shapes that clash are named with their op", "[errors]") {
  const Tensor a = ones({2, 3}), b = ones({4, 5}), image = ones({1, 3, 8, 8});
  check({
      {"add", [&] { a + b; }, {"add", "(2, 3)", "(4, 5)"}},
      {"in place", [&] { ones({3}).add_(a); }, {"add_", "(3,)", "(2, 3)"}},
      {"matmul", [&] { matmul(a, b); }, {"matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"}},
      {"mm", [&] { mm(a, image); }, {"mm: mat2 must be a matrix, got 4-D tensor"}},
      {"bmm", [&] { bmm(a, b); }, {"bmm", "(2, 3)"}},
      {"linear", [&] { nn::Linear(4, 2)(a); }, {"linear: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)"}},
      {"conv2d, channels",
       [&] { nn::Conv2d(1, 2, 3)(image); },
       {"conv2d: Given groups=1, weight of size (2, 1, 3, 3), expected input(1, 3, 8, 8) to have 1 channels, but got "
        "3"}},
      {"conv2d, kernel",
       [&] { nn::Conv2d(3, 2, 9)(image); },
       {"conv2d: Calculated padded input size per channel: (8 x 8). Kernel size: (9 x 9). Kernel size can't be "
        "greater"}},
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
  if (!cuda::is_available()) {
    WARN("SKIPPED: there is no GPU");
    return;
  }
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
  if (cuda::is_available()) {
    WARN("SKIPPED: there is a GPU");
    return;
  }
  nn::Linear layer(3, 1);
  check({
      {"factory", [] { ones({1}, kCUDA); }, {"cuda:0", "no GPU"}},
      {"to", [] { ones({1}).to(kCUDA); }, {"cuda:0", "no GPU"}},
      {"module", [&] { layer->to(kCUDA); }, {"cuda:0", "no GPU"}},
  });
  CHECK(layer->weight.device() == Device(kCPU));
}
TEST_CASE("forms of LibTorch that ask for what there is not say so", "[errors]") {
  const Tensor x = ones({2, 3}), batch = ones({1, 2, 3}), image = ones({1, 1, 4, 4}), kernel = ones({1, 1, 2, 2});
  const Tensor index = zeros({2, 1}, kInt64), halves = x.to(kFloat16);
  check({
      {"a reduction beyond", [&] { mse_loss(x, x, 3); }, {"reduction is 3; accepted: 0 (none), 1 (mean) and 2 (sum)"}},
      {"a negative reduction", [&] { nll_loss(x, zeros({2}, kInt64), {}, int64_t{-1}); }, {"reduction is -1"}},
      {"sparse gradients of gather", [&] { gather(x, 1, index, true); }, {"gather: sparse_grad is true"}},
      {"sparse gradients of embedding", [&] { embedding(x, index, -1, false, true); }, {"embedding: sparse is true"}},
      {"clamp without bounds", [&] { clamp(x); }, {"At least one of 'min' or 'max' must not be None"}},
      {"clip_ without bounds", [&] { x.clone().clip_(); }, {"At least one of 'min' or 'max' must not be None"}},
      {"an unknown padding",
       [&] { conv2d(image, kernel, {}, 1, "full"); },
       {"conv2d: Invalid padding string: 'full'", "\"valid\" and \"same\""}},
      {"same with strides",
       [&] {
         conv2d(image, kernel, {}, {1, 2}, "same");
       },
       {"conv2d: padding='same' is not supported for strided convolutions; strides are (1, 2)"}},
      {"two sizes for one dimension",
       [&] {
         avg_pool1d(batch, {2, 2});
       },
       {"Expected 1 values, but instead got 2"}},
      {"a start with dimensions",
       [&] { linspace(x, 2, 3); },
       {"linspace and logspace only support 0-dimensional start and end tensors", "(2, 3)"}},
      {"a high with dimensions", [&] { randint_like(x, x); }, {"randint_like: high must be a scalar tensor", "(2, 3)"}},
      {"a start that is no integer",
       [&] { x.narrow(1, tensor(1.5), 1); },
       {"narrow: start must be an 0-dim integral Tensor", "float32"}},
      {"another output size",
       [&] { repeat_interleave(x, 2, 0, 5); },
       {"repeat_interleave: Invalid output_size, expected 4 but got 5"}},
      {"another output size for a tensor",
       [&] {
         x.repeat_interleave(tensor({1, 2}), 0, 4);
       },
       {"repeat_interleave: Invalid output_size, expected 3 but got 4"}},
      {"a narrower product",
       [&] { mm(x, x.t(), kFloat16); },
       {"mm: out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs", "float16", "float32"}},
      {"a wider product", [&] { addmm(halves, halves, halves.t(), kFloat64); }, {"addmm: out_dtype must be"}},
      {"another dtype in place",
       [&] { x.clone().cumsum_(0, kFloat64); },
       {"cumsum_: provided dtype must match the dtype of self. Got float64 and float32"}},
      {"a short path",
       [&] {
         einsum("ij,jk,kl->il", {x, x.t(), x}, {0, 1});
       },
       {"einsum: expected contraction path given in path parameter to have size 4 but got 2"}},
      {"a path beyond",
       [&] {
         einsum("ij,jk,kl->il", {x, x.t(), x}, {0, 1, 0, 2});
       },
       {"einsum: invalid contraction (0, 2) operand index is out of bounds"}},
      {"a path to itself",
       [&] {
         einsum("ij,jk->ik", {x, x.t()}, {1, 1});
       },
       {"einsum: invalid contraction (1, 1) cannot contract an operand with itself"}},
      {"neither size nor scales",
       [&] { upsample_nearest2d(image, std::optional<IntArrayRef>(), ArrayRef<double>()); },
       {"upsample_nearest2d: got 0 scale_factors", "2 for 4 dimensions"}},
      {"size and scales",
       [&] {
         upsample_bilinear2d(image, {2, 2}, false, std::vector<double>{2, 2});
       },
       {"upsample_bilinear2d: Must specify exactly one of output_size and scale_factors"}},
  });
}
