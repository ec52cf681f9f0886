// Tests scalars combined with integer and bool tensors: values equal PyTorch's, and errors are thrown where PyTorch
// throws.
#include <limits>

#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {
Tensor bytes(const std::vector<int64_t>& values) {
  Tensor t = empty({static_cast<int64_t>(values.size())}, kInt64);
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return t.to(kUInt8);
}
void check_values(const Tensor& got, DType dtype, const std::vector<double>& want) {
  INFO(got);
  CHECK(got.dtype() == dtype);
  const Tensor wide = got.to(kFloat64).contiguous();
  REQUIRE(wide.numel() == static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) CHECK(wide.data_ptr<double>()[i] == Approx(want[i]).epsilon(1e-6));
}
}  // namespace

TEST_CASE("a number is divided as it is, not as the integer dtype would hold it", "[numbers]") {
  check_values(bytes({200}) / 256, kFloat32, {0.78125});
  check_values(300 / tensor({100, 3}).to(kInt8), kFloat32, {3, 100});
  check_values(tensor({3, -4}) / 0, kFloat32, {INFINITY, -INFINITY});
  check_values(1.0 - bytes({3, 7}), kFloat32, {-2, -6});
  check_values(1 - bytes({3, 7}), kUInt8, {254, 250});
  check_values(300 - bytes({3, 7}), kUInt8, {41, 37});
  check_values(1 - tensor(3).to(kUInt8), kUInt8, {254});
}

TEST_CASE("integers divided by zero throw, real numbers give what IEEE 754 says", "[numbers]") {
  const Tensor x = tensor({3, -4}), zeros_too = tensor({1, 0});
  // as uint8, 256 wraps to 0
  CHECK_THROWS_WITH(bytes({3}) % 256, Contains("remainder") && Contains("ZeroDivisionError"));
  CHECK_THROWS_WITH(x % 0, Contains("remainder"));
  CHECK_THROWS_WITH(x.fmod(0), Contains("fmod"));
  CHECK_THROWS_WITH(x.floor_divide(0), Contains("floor_divide"));
  CHECK_THROWS_WITH(x % zeros_too, Contains("remainder"));
  CHECK_THROWS_WITH(x.fmod(zeros_too), Contains("fmod"));
  CHECK_THROWS_WITH(x.floor_divide(zeros_too.slice(0, 1)), Contains("floor_divide"));
  CHECK((empty({0}, kInt64) % 0).numel() == 0);
  check_values(tensor({3.0, -4.0}).floor_divide(0), kFloat32, {INFINITY, -INFINITY});
  check_values(tensor({-128}).to(kInt8).floor_divide(-1), kInt8, {-128});
}

TEST_CASE("integers have no negative powers that are plain numbers", "[numbers]") {
  const Tensor x = tensor({1, -1, 4});
  CHECK_THROWS_WITH(x.pow(-1), Contains("pow") && Contains("-1"));
  CHECK_THROWS_WITH(bytes({2}).pow(256), Contains("pow") && Contains("256"));
  check_values(x.pow(-1.0), kFloat32, {1, -1, 0.25});
  check_values(x.pow(tensor({-1, -1, -1})), kInt64, {1, -1, 0});
}

TEST_CASE("clamp of integers by real bounds gives real numbers, by bounds beyond the dtype what it holds",
          "[numbers]") {
  check_values(tensor({3, -4, 0}).clamp(0.5, 2.5), kFloat32, {2.5, 0.5, 0.5});
  check_values(tensor({3, -4}).clamp({}, 2.5), kFloat32, {2.5, -4});
  check_values(bytes({3, 7}).clamp(-5, 300), kUInt8, {3, 7});
  CHECK_THROWS_WITH(bytes({3}).clamp(300), Contains("clamp: min is 300") && Contains("0 to 255"));
  CHECK_THROWS_WITH(bytes({3}).clamp({}, -1), Contains("clamp: max is -1"));
  CHECK_THROWS_WITH(tensor({3}).clamp_(0.5), Contains("clamp_") && Contains("float32"));
  const Tensor b = tensor({true, false});
  check_values(b.clamp(0, 5), kInt64, {1, 0});
  CHECK_THROWS_WITH(b.clamp(false, true), Contains("clamp") && Contains("bool"));
  CHECK_THROWS_WITH(tensor({true}).clamp_(0), Contains("clamp_"));
}

TEST_CASE("bools are not subtracted, and have no sign to change", "[numbers]") {
  const Tensor b = tensor({true, false}), x = ones({2}), i = tensor({1, 2});
  for (const auto& difference : std::vector<std::function<void()>>{
           [&] { b - b; }, [&] { b - 1; }, [&] { 1 - b; }, [&] { x - b; }, [&] { b - x; }, [&] { i - true; },
           [&] { true - x; }, [&] { x.clone().sub_(b); }, [&] { b.clone().sub_(b); }, [&] { x.clone().sub_(true); }})
    CHECK_THROWS_WITH(difference(), Contains("sub") && Contains("is not supported"));
  CHECK_THROWS_WITH(b.neg(), Contains("neg") && Contains("bool"));
  CHECK_THROWS_WITH(b.relu(), Contains("relu") && Contains("bool"));
  CHECK_THROWS_WITH(b.floor(), Contains("floor") && Contains("bool"));
  CHECK_THROWS_WITH(b % b, Contains("remainder") && Contains("bool"));
  check_values(b.sign(), kBool, {1, 0});
  check_values(b.square(), kInt64, {1, 0});
}

TEST_CASE("alpha is a bool, an integer or a real number as the result is", "[numbers]") {
  const Tensor b = tensor({false, true}), both = tensor({true, true}), i = tensor({1, 2}), x = ones({2});
  CHECK_THROWS_WITH(x.add(x, true), Contains("add: Boolean alpha only supported for Boolean results"));
  CHECK_THROWS_WITH(i.sub(i, true), Contains("sub: Boolean alpha only supported for Boolean results"));
  CHECK_THROWS_WITH(i.add(i, 2.0),
                    Contains("add: For integral input tensors, argument alpha must not be a floating point number"));
  CHECK_THROWS_WITH(i.clone().add_(i, 2.5), Contains("add_") && Contains("2.5"));
  CHECK_THROWS_WITH(i.clone().sub_(i, true), Contains("sub_"));
  CHECK_THROWS_WITH(b.add(both, 1.0), Contains("add"));
  CHECK_THROWS_WITH(bytes({1}).add(bytes({1}), 300),
                    Contains("add: value cannot be converted to type uint8 without overflow: 300"));
  check_values(bytes({3}).add(bytes({3}), -1), kUInt8, {0});
  check_values(i.add(x[0], 2.5), kFloat32, {3.5, 4.5});
  check_values(b.add(both, true), kBool, {1, 1});
  check_values(b.add(both, false), kBool, {0, 1});
}

TEST_CASE("what a number is put into must hold it", "[numbers]") {
  const Tensor u = bytes({3, 7});
  CHECK_THROWS_WITH(where(u > 3, u, 300),
                    Contains("where: value cannot be converted to type uint8 without overflow: 300"));
  CHECK_THROWS_WITH(u.masked_fill(u > 3, 300),
                    Contains("masked_fill: value cannot be converted to type uint8 without overflow"));
  check_values(u.masked_fill(u > 3, 2.5), kUInt8, {3, 2});
  CHECK_THROWS_WITH(tensor({true}).add_(1), Contains("add_") && Contains("bool"));
  CHECK_THROWS_WITH(tensor({true}).mul_(tensor({2})), Contains("mul_") && Contains("int64"));
}

TEST_CASE("integers wrap where a result does not fit", "[numbers][devices]") {
  // Only a sanitizer can tell wrapping from signed overflow, which is undefined in C++.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  for (const Device device : cuda::is_available() ? std::vector<Device>{kCPU, kCUDA} : std::vector<Device>{kCPU}) {
    const auto on_device = [device](std::initializer_list<int64_t> values) {
      return tensor(std::vector<int64_t>(values)).to(device);
    };
    const auto check = [&](const Tensor& got, std::initializer_list<int64_t> want) {
      INFO(device << ": " << got);
      CHECK(got.cpu().equal(tensor(std::vector<int64_t>(want))));
    };
    const Tensor most = on_device({kMost, 3}), least = on_device({kLeast, 3}), twice = on_device({0, 0});
    check(most + 1, {kLeast, 4});
    check(least - 1, {kMost, 2});
    check(most.add(most, 3), {-4, 12});
    check(most * 2, {-2, 6});
    check(most.square(), {1, 9});
    check(least.neg(), {kLeast, -3});
    check(least.abs(), {kLeast, 3});
    check(least.floor_divide(-1), {kLeast, -3});
    check(on_device({kMost, 1}).sum(0, true), {kLeast});
    check(on_device({kMost, 2}).prod().view({1}), {-2});
    check(on_device({kMost, 1, 1}).cumsum(0), {kMost, kLeast, kLeast + 1});
    check(on_device({kMost, 0}).index_add(0, twice, on_device({1, 1})), {kLeast + 1, 0});
    check(on_device({kMost, 0}).scatter_add(0, twice, on_device({1, 1})), {kLeast + 1, 0});
    check((on_device({127, 100}).to(kInt8) * 2).to(kInt64), {-2, -56});
  }
}

TEST_CASE("floor_divide has no derivative, and says so in backward", "[numbers]") {
  const Tensor x = tensor({5.0, -2.0}).requires_grad_(), y = x.floor_divide(2);
  CHECK(y.requires_grad());
  CHECK_THROWS_AS(y.sum().backward(), NotImplementedError);
  CHECK_THROWS_WITH(y.sum().backward(), Contains("floor_divide"));
  CHECK_FALSE(x.detach().floor_divide(2).requires_grad());
  CHECK_FALSE(tensor({5, 2}).floor_divide(2).requires_grad());
  // The gradient of remainder by its divisor is recorded, so it has derivatives too.
  const Tensor b = tensor({3.0, 3.0}).requires_grad_();
  const Tensor db = autograd::grad({(x % b).square().sum()}, {b}, {}, true, true)[0];  // -2 (x % b) floor(x / b)
  check_values(db.detach(), kFloat32, {-4, 2});
  check_values(autograd::grad({db.sum()}, {x})[0], kFloat32, {-2, 2});
}

TEST_CASE("sum_to_size sums what sizes broadcast over, and is a view only where it drops dimensions", "[numbers]") {
  const Tensor x = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
  check_values(sum_to_size(x, {}), kFloat32, {21});
  check_values(sum_to_size(x, {1}), kFloat32, {21});
  check_values(sum_to_size(x, {3}), kFloat32, {5, 7, 9});
  check_values(sum_to_size(x, {2, 1}), kFloat32, {6, 15});
  CHECK(sum_to_size(x, {2, 3}).is_same(x));
  CHECK(sum_to_size(x, {2, 1}).sizes() == IntArrayRef({2, 1}));
  const auto is_view = [](const Tensor& t) {
    return autograd::get_autograd_meta(t) && autograd::get_autograd_meta(t)->base.defined();
  };
  CHECK(is_view(sum_to_size(x, {3})));
  CHECK_FALSE(is_view(sum_to_size(x, {2, 1})));
  const Tensor number = tensor(true);
  check_values(sum_to_size(number, {}), kInt64, {1});
  for (const Shape& sizes : {Shape{3, 2}, Shape{6}, Shape{1, 2, 3}, Shape{0}, Shape{2, 0}})
    CHECK_THROWS_WITH(sum_to_size(x, sizes), Contains("sum_to_size"));
}

TEST_CASE("norm refuses integers, and what has no elements where none has no norm", "[numbers]") {
  for (const double p : {2.0, 1.0, 0.0, double(INFINITY)})
    CHECK_THROWS_WITH(arange(4).norm(p), Contains("norm: Expected a floating point"));
  for (const double p : {-1.0, double(INFINITY), -double(INFINITY)}) {
    CHECK_THROWS_WITH(zeros({0}).norm(p), Contains("norm cannot compute the") && Contains("(0,)"));
    CHECK_THROWS_WITH(zeros({2, 0}).norm(p, {1}), Contains("on an empty tensor"));
    CHECK(zeros({2, 0}).norm(p, {0}).sizes() == IntArrayRef({0}));
  }
  check_values(zeros({2, 0}).norm(3, {1}), kFloat32, {0, 0});
}

TEST_CASE("integers are multiplied by matrices, and wrap", "[numbers]") {
  const Tensor a = tensor({1, 2, 3, 4, 5, 6}, kInt64).view({2, 3}),
               b = tensor({7, 8, 9, 10, 11, 12}, kInt64).view({3, 2});
  check_values(a.mm(b), kInt64, {58, 64, 139, 154});
  check_values(a.matmul(tensor({1, 0, -1}, kInt64)), kInt64, {-2, -2});
  check_values(a.unsqueeze(0).bmm(b.unsqueeze(0)), kInt64, {58, 64, 139, 154});
  check_values(addmm(tensor({1, 2}, kInt64), a, b, 2, -1), kInt64, {-56, -60, -137, -150});
  check_values(linear(a, b.t(), tensor({1, 2}, kInt64)), kInt64, {59, 66, 140, 156});
  check_values(tensor({100, 100}, kInt8).dot(tensor({1, 1}, kInt8)), kInt8, {-56});
  check_values(zeros({2, 0}, kInt32).mm(zeros({0, 1}, kInt32)), kInt32, {0, 0});
  CHECK_THROWS_WITH(ones({1, 1}, kBool).mm(ones({1, 1}, kBool)), Contains("not implemented for 'bool'"));
}

TEST_CASE("spreads and norms of half types do not overflow on the way", "[numbers]") {
  const Tensor x = tensor({1000.0, 1.0}, kFloat16);
  check_values(x.std(), kFloat16, {706.5});
  check_values(x.std(0), kFloat16, {706.5});
  check_values(x.norm(), kFloat16, {1000});
  check_values(x.norm(3.0), kFloat16, {1000});
  check_values((x * 0.25).var(), kFloat16, {31184});
}

TEST_CASE("quotients that are rounded have no slope, though they are divided by 0", "[numbers]") {
  for (const bool floors : {false, true}) {
    const Tensor a = tensor({3.0, 3.0}).requires_grad_(), b = tensor({2.0, 0.0}).requires_grad_();
    const Tensor y = floors ? a.remainder(b) : a.fmod(b);
    const Tensor db = autograd::grad({y.sum()}, {b}, {}, true, true)[0];
    CHECK(db[0].item<double>() == -1);
    const auto second = autograd::grad({db[0]}, {a, b}, {}, true);
    for (const Tensor& zero : second) CHECK(zero.equal(zeros({2})));
  }
}
