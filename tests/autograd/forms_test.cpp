// Tests the variants that every op of core/elementwise_ops.h has: in place, and with an output argument. They give the
// same values and gradients as the function. If they cannot, their error says why.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

struct Unary {
  const char* name;
  Tensor (*call)(const Tensor&);
  Tensor& (*inplace)(Tensor&);
  Tensor& (*out)(Tensor&, const Tensor&);
  bool converts;  // the output may have another dtype that can hold the result
};
struct Binary {
  const char* name;
  Tensor (*call)(const Tensor&, const Tensor&);
  Tensor& (*inplace)(Tensor&, const Tensor&);
  Tensor& (*out)(Tensor&, const Tensor&, const Tensor&);
};
constexpr bool converts(std::string_view name, std::string_view accepts) {
  return accepts == "floating" || accepts == "counted" || name == "logical_not";
}
#define X(name, F, accepts, ...) \
  {#name, [](const Tensor& x) { return name(x); }, name##_, name##_out, converts(#name, #accepts)},
const Unary kUnary[] = {TANDEM_ALL_UNARY_OPS(X)};
#undef X
#define X(name, ...)                                                   \
  {#name, [](const Tensor& x, const Tensor& y) { return name(x, y); }, \
   [](Tensor& x, const Tensor& y) -> Tensor& { return x.name##_(y); }, \
   [](Tensor& out, const Tensor& x, const Tensor& y) -> Tensor& { return name##_out(out, x, y); }},
const Binary kBinary[] = {TANDEM_ALL_BINARY_OPS(X)};
#undef X
constexpr DType kDTypes[] = {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt16, kInt8, kUInt8, kBool};

/// Inputs for which most operations return values different from the input.
Tensor first(DType dtype) { return (arange(1, 7).to(kFloat32) * 0.75 - 1).view({2, 3}).to(dtype); }
Tensor second(DType dtype) { return tensor({2.0, 1.0, 3.0}).to(dtype); }
int kind(DType t) { return is_floating_point(t) ? 2 : is_integer(t) ? 1 : 0; }
bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.allclose(b, 0, 0, /*equal_nan=*/true);
}
/// Returns make(), or an undefined tensor if it throws.
template <class F> Tensor attempt(F make) {
  try {
    return make();
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

TEST_CASE("in place an operation gives what it gives beside, or says that its tensor cannot hold that", "[forms]") {
  for (const DType dtype : kDTypes) {
    for (const Unary& op : kUnary) {
      CAPTURE(op.name, dtype);
      const Tensor want = attempt([&] { return op.call(first(dtype)); });
      Tensor x = first(dtype), alias = x.view({6});
      const uint32_t version = x._version();
      if (!want.defined() || kind(want.dtype()) > kind(dtype)) {
        CHECK_THROWS_WITH(op.inplace(x), Contains(std::string(op.name) + "_"));
        continue;
      }
      CHECK(&op.inplace(x) == &x);
      CHECK(same(x, want.to(dtype)));
      CHECK(same(alias, x.view({6})));
      CHECK(x._version() > version);
    }
    for (const DType other : kDTypes)
      for (const Binary& op : kBinary) {
        CAPTURE(op.name, dtype, other);
        const Tensor want = attempt([&] { return op.call(first(dtype), second(other)); });
        Tensor x = first(dtype);
        if (!want.defined() || kind(want.dtype()) > kind(dtype)) {
          CHECK_THROWS_AS(op.inplace(x, second(other)), Error);
          continue;
        }
        CHECK(&op.inplace(x, second(other)) == &x);
        CHECK(same(x, want.to(dtype)));
      }
  }
}

TEST_CASE("in place an operation has the gradients that it has beside", "[forms]") {
  for (const Unary& op : kUnary) {
    CAPTURE(op.name);
    if (!attempt([&] { return op.call(first(kFloat32)); }).defined()) continue;
    Tensor a = first(kFloat32).requires_grad_(), b = first(kFloat32).requires_grad_();
    const Tensor y = op.call(a * 1);
    if (!y.requires_grad()) continue;
    y.sum().backward();
    Tensor x = b * 1;
    op.inplace(x).sum().backward();
    CHECK(same(b.grad(), a.grad()));
  }
  for (const Binary& op : kBinary) {
    CAPTURE(op.name);
    if (!attempt([&] { return op.call(first(kFloat32), second(kFloat32)); }).defined()) continue;
    Tensor a[2], b[2];
    for (auto* leaves : {a, b})
      leaves[0] = first(kFloat32).requires_grad_(), leaves[1] = second(kFloat32).requires_grad_();
    const Tensor y = op.call(a[0] * 1, a[1]);
    if (!y.requires_grad() || !attempt([&] { return y.sum().backward(), y; }).defined()) continue;
    Tensor x = b[0] * 1;
    op.inplace(x, b[1]).sum().backward();
    for (int k : {0, 1}) CHECK(same(b[k].grad(), a[k].grad()));
  }
}

TEST_CASE("with an output an operation writes there, converted, and gives an empty one its sizes", "[forms]") {
  const auto check = [](const char* name, bool converts, const Tensor& want, DType dtype, auto write) {
    for (const DType type : kDTypes) {
      CAPTURE(name, dtype, type);
      Tensor out = zeros({2, 3}, type), grown = empty({0}, type), turned = zeros({3, 2}, type).t();
      const Tensor alias = out.view({6});
      if (!want.defined() || kind(want.dtype()) > kind(type) || (!converts && want.dtype() != type)) {
        CHECK_THROWS_WITH(write(out), Contains(std::string(name) + "_out"));
        continue;
      }
      CHECK(&write(out) == &out);
      CHECK(same(out, want.to(type)));
      CHECK(same(alias, out.view({6})));
      CHECK(same(write(grown), want.to(type)));
      CHECK(same(write(turned).contiguous(), want.to(type)));
      Tensor other = zeros({3, 3}, type);  // gets resized, within its own memory
      const void* const memory = other.data_ptr();
      CHECK(same(write(other), want.to(type)));
      CHECK(other.data_ptr() == memory);
    }
  };
  for (const DType dtype : kDTypes) {
    for (const Unary& op : kUnary)
      check(op.name, op.converts, attempt([&] { return op.call(first(dtype)); }), dtype,
            [&](Tensor& out) -> Tensor& { return op.out(out, first(dtype)); });
    for (const Binary& op : kBinary)
      check(op.name, true, attempt([&] { return op.call(first(dtype), second(dtype)); }), dtype,
            [&](Tensor& out) -> Tensor& { return op.out(out, first(dtype), second(dtype)); });
  }
}

TEST_CASE("an output may be an input, or lie across one", "[forms]") {
  Tensor x = arange(0, 12).to(kFloat32);
  const Tensor want = x.slice(0, 0, 8).exp();
  Tensor shifted = x.slice(0, 3, 11);
  exp_out(shifted, x.slice(0, 0, 8));
  CHECK(same(x.slice(0, 3, 11), want));
  Tensor y = arange(0, 4).to(kFloat32);
  mul_out(y, y, y);
  CHECK(same(y, tensor({0.0, 1.0, 4.0, 9.0})));
  add_out(y, y, y, 0.5);
  CHECK(same(y, tensor({0.0, 1.5, 6.0, 13.5})));
  sub_out(y, y, y);
  CHECK(same(y, zeros({4})));
}

TEST_CASE("with an output nothing is recorded, so a gradient that is wanted is an error", "[forms]") {
  Tensor leaf = ones({2}).requires_grad_(), plain = ones({2}), out = ones({2});
  CHECK_THROWS_WITH(exp_out(out, leaf), Contains("exp_out") && Contains("NoGradGuard"));
  CHECK_THROWS_WITH(exp_out(leaf, plain), Contains("exp_out"));
  CHECK_THROWS_WITH(mul_out(out, plain, leaf), Contains("mul_out"));
  CHECK_THROWS_WITH(add_out(out, leaf, plain), Contains("add_out"));
  const NoGradGuard guard;
  CHECK(same(exp_out(out, leaf), exp(plain)));
  Tensor expanded = zeros({1}).expand({2});
  CHECK_THROWS_WITH(exp_out(expanded, plain), Contains("exp_out"));
}

TEST_CASE("a power of a number in place and into an output", "[forms]") {
  Tensor x = tensor({1.0, 2.0, 3.0}), leaf = tensor({1.0, 2.0, 3.0}).requires_grad_(), out = empty({0});
  CHECK(same(pow_out(out, x, 2), tensor({1.0, 4.0, 9.0})));
  Tensor y = leaf * 1;
  y.pow_(3).sum().backward();
  CHECK(same(leaf.grad(), tensor({3.0, 12.0, 27.0})));
  Tensor z = x * 1.25;
  CHECK(same(z.round_(1), round(x * 1.25, 1)));
  CHECK(same(gelu_(z, "tanh"), gelu(round(x * 1.25, 1), "tanh")));
  Tensor whole = tensor({1, 2});
  CHECK_THROWS_WITH(whole.pow_(-1), Contains("pow_"));
  CHECK_THROWS_WITH(whole.pow_(0.5), Contains("pow_") && Contains("can't be cast to the desired output type"));
  CHECK_THROWS_WITH(whole.remainder_(0), Contains("remainder_") && Contains("ZeroDivisionError"));
  CHECK(same(whole.eq_(2), tensor({0, 1})));
}

TEST_CASE("reductions write into an output, which gets the result's sizes", "[forms]") {
  const Tensor x = arange(0, 6).to(kFloat32).view({2, 3});
#define X(name, ...)                                                                                             \
  {                                                                                                              \
    Tensor out = zeros({2}), grown = empty({0}), whole = empty({0}, kFloat64), other = zeros({3}), leaf = x * 1; \
    CHECK(&name##_out(out, x, {1}) == &out);                                                                     \
    CHECK(same(out, x.name({1})));                                                                               \
    CHECK(same(name##_out(grown, x, {0}, true), x.name({0}, true)));                                             \
    CHECK(same(name##_out(whole, x), x.name().to(kFloat64)));                                                    \
    CHECK(same(name##_out(other, x, {1}), x.name({1})));                                                         \
    CHECK_THROWS_WITH(name##_out(out, leaf.requires_grad_(), {1}), Contains(#name "_out"));                      \
  }
  TANDEM_REDUCE_OPS(X)
#undef X
}

TEST_CASE("results that do not depend on a value still require a gradient, as in PyTorch", "[autograd]") {
  const Tensor x = tensor({{3., 1.}, {3., 1.}}).requires_grad_();
  for (const Tensor& values : {std::get<0>(_unique2(x)), std::get<0>(unique_dim(x, 0)),
                               std::get<0>(unique_consecutive(x)), std::get<0>(unique_dim_consecutive(x, 0))}) {
    CHECK(values.requires_grad());
    REQUIRE_THROWS_WITH(values.sum().backward(), Contains("the derivative for") && Contains("is not implemented"));
  }
  CHECK_FALSE(std::get<0>(_unique2(x.detach())).requires_grad());

  const Tensor image = arange(4, kFloat64).view({1, 1, 2, 2}),
               grid = full({1, 1, 2, 2}, 0.4, kFloat64).requires_grad_();
  grid_sampler(image, grid, /*nearest*/ 1, 0, false).sum().backward();
  CHECK(grid.grad().equal(zeros_like(grid)));

  const Tensor source = ones({0}).requires_grad_(), none = zeros({0}, kInt64);
  CHECK(ones({3}).index_reduce(0, none, source, "amax").requires_grad());
  CHECK(ones({3}).scatter_reduce(0, none, source, "sum").requires_grad());

  const Tensor rows = ones({2, 3}).requires_grad_();
  cdist(rows, ones({1, 3}), 0).sum().backward();
  CHECK(rows.grad().equal(zeros({2, 3})));

  const Tensor a = tensor({{2., 1.}, {0., 3.}}).requires_grad_();
  linalg_matrix_power(a, 0).sum().backward();
  CHECK(a.grad().equal(zeros({2, 2})));
}

TEST_CASE("a shuffle that moves nothing is no alias of its input", "[autograd]") {
  const Tensor x = arange(8, kFloat32).view({1, 2, 2, 2});
  for (const Tensor& y : {pixel_shuffle(x, 1), pixel_unshuffle(x, 1), channel_shuffle(x, 1), channel_shuffle(x, 2)}) {
    CHECK(y.equal(x));
    CHECK(y.storage() != x.storage());
  }
}

TEST_CASE("instance norm of one value for each channel gives the bias", "[autograd]") {
  // torch.instance_norm gives the same up to rounding. running_mean is updated. running_var stays unchanged, whereas
  // PyTorch sets it to NaN.
  const Tensor x = tensor({{{3.f}, {5.f}}}).requires_grad_(), weight = ones({2}).requires_grad_();
  const Tensor bias = tensor({0.25f, -1.f}), mean = ones({2}), var = ones({2});
  const Tensor y = instance_norm(x, weight, bias, mean, var, true, 0.1, 1e-5);
  CHECK(y.equal(bias.view({1, 2, 1})));
  CHECK(mean.allclose(tensor({1.2f, 1.4f})));
  CHECK(var.equal(ones({2})));
  y.sum().backward();
  CHECK(x.grad().equal(zeros_like(x)));
  CHECK(weight.grad().equal(zeros({2})));
}
