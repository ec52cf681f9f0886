// Tests the in-place and output-argument variants of composite operations: they give the same values and gradients as
// the
// function, and throw if the tensor cannot hold the result.
#include <cmath>
#include <cstdint>
#include <vector>

#include "tandem/ops/backward.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

struct InplaceForm {
  const char* name;
  Tensor (*call)(const Tensor&);
  Tensor& (*inplace)(Tensor&);
};
struct OutForm {
  const char* name;
  Tensor (*call)(const Tensor&, const Tensor&);
  Tensor& (*out)(Tensor&, const Tensor&, const Tensor&);
};
bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.allclose(b, 0, 0, /*equal_nan=*/true);
}
/// Numbers between 0.1 and 0.9, for which all tested functions are defined and smooth.
Tensor fractions() { return arange(1, 10).to(kFloat64).view({3, 3}) * 0.1 + 0.01; }
Tensor halves() { return full({3, 3}, 0.5, kFloat64); }
Tensor operand_of_three() { return arange(1, 4).to(kFloat64) * 0.7; }

// Name of an operation, its method or function, and its in-place variant.
#define METHOD(name, ...)                                                                                           \
  {                                                                                                                 \
#name, [](const Tensor& x) { return x.name(__VA_ARGS__); }, [](Tensor &                                         \
                                                                   x) -> Tensor& { return x.name##_(__VA_ARGS__); } \
  }
#define FUNCTION(name, ...)                                                                     \
  {                                                                                             \
#name, [](const Tensor& x) { return tandem::name(x __VA_OPT__(, ) __VA_ARGS__); },            \
        [](Tensor& x) -> Tensor& { return tandem::name##_(x __VA_OPT__(, ) __VA_ARGS__); } \
  }
const InplaceForm kInplaceForms[] = {
    METHOD(hypot, operand_of_three()),
    METHOD(copysign, -operand_of_three()),
    METHOD(copysign, -1.5),
    METHOD(float_power, operand_of_three()),
    METHOD(float_power, 1.5),
    METHOD(polygamma, 1),
    METHOD(mvlgamma, 1),
    METHOD(cumsum, 1),
    METHOD(cumprod, 0),
    METHOD(clamp_min, 0.35),
    METHOD(clamp_max, operand_of_three()),
    METHOD(clip, operand_of_three() * 0.3, operand_of_three()),
    METHOD(addmm, fractions(), halves(), 0.5, 2),
    METHOD(addbmm, fractions().unsqueeze(0), halves().unsqueeze(0), 0.5, 2),
    METHOD(addr, operand_of_three(), operand_of_three(), 0.5, 2),
    METHOD(masked_fill, fractions() > 0.5, full({}, 2.5, kFloat64)),
    METHOD(subtract, operand_of_three(), 3),
    METHOD(div, operand_of_three(), "floor"),
    METHOD(divide, 0.25, "trunc"),
    METHOD(arcsin),
    METHOD(multiply, operand_of_three()),
    FUNCTION(deg2rad),
    FUNCTION(rad2deg),
    FUNCTION(sinc),
    FUNCTION(logit),
    FUNCTION(logit, 0.3),
    FUNCTION(xlogy, operand_of_three()),
    FUNCTION(xlogy, 2.5),
    FUNCTION(ldexp, operand_of_three()),
    FUNCTION(arctanh),
    FUNCTION(clamp, 0.35, 0.65),
    FUNCTION(clip, 0.35),
    FUNCTION(clamp_min, operand_of_three()),
    FUNCTION(clamp_max, 0.35),
    FUNCTION(fill, 2.5),
    FUNCTION(zero),
    FUNCTION(leaky_relu, 0.25),
    FUNCTION(elu, 0.5),
    FUNCTION(celu, 1.5),
    FUNCTION(selu),
    FUNCTION(threshold, 0.35, 2),
    FUNCTION(hardtanh, 0.2, 0.65),
    FUNCTION(relu6),
    FUNCTION(hardsigmoid),
    FUNCTION(hardswish),
    FUNCTION(mish),
    FUNCTION(rrelu),
};
#define OUT(name)                                                                                                 \
  {                                                                                                               \
#name, [](const Tensor& x,                                                                                    \
              const Tensor& y) { return tandem::name(x, y); }, [](Tensor & out, const Tensor& x, const Tensor& y) \
                                                                    -> Tensor& { return name##_out(out, x, y); }  \
  }
#define OUT_OF_ONE(name, ...)                                                                                       \
  {                                                                                                                 \
#name, [](const Tensor& x, const Tensor&) { return tandem::name(x __VA_OPT__(, ) __VA_ARGS__); },                 \
        [](Tensor& out, const Tensor& x, const Tensor&) -> Tensor& {                                              \
          return name##_out(out, x __VA_OPT__(, ) __VA_ARGS__);                                                   \
        } \
  }
const OutForm kOutForms[] = {OUT(hypot),
                             OUT(logaddexp),
                             OUT(logaddexp2),
                             OUT(copysign),
                             OUT(xlogy),
                             OUT(ldexp),
                             OUT(float_power),
                             OUT(heaviside),
                             OUT(special_xlog1py),
                             OUT(special_zeta),
                             OUT(subtract),
                             OUT(divide),
                             OUT(special_gammainc),
                             OUT_OF_ONE(deg2rad),
                             OUT_OF_ONE(rad2deg),
                             OUT_OF_ONE(sinc),
                             OUT_OF_ONE(logit, 0.3),
                             OUT_OF_ONE(mvlgamma, 1),
                             OUT_OF_ONE(clamp, 0.35, 0.65),
                             OUT_OF_ONE(clip, 0.35),
                             OUT_OF_ONE(clamp_min, 0.35),
                             OUT_OF_ONE(clamp_max, 0.35),
                             OUT_OF_ONE(xlogy, 2.5),
                             OUT_OF_ONE(special_entr),
                             OUT_OF_ONE(special_ndtr),
                             OUT_OF_ONE(special_log_ndtr),
                             OUT_OF_ONE(special_erfcx),
                             OUT_OF_ONE(special_ndtri),
                             OUT_OF_ONE(special_i1e),
                             OUT_OF_ONE(special_psi),
                             OUT_OF_ONE(special_expit),
                             OUT_OF_ONE(arccos)};

}  // namespace

TEST_CASE("addcmul and addcdiv overflow where PyTorch's do, and integers wrap", "[ops]") {
  const auto one = [](double v) { return tensor({v}, kFloat64); };
  CHECK(addcmul(one(0), one(1e200), one(1e200), 1e-200).item<double>() == Approx(1e200));
  CHECK(addcdiv(one(0), one(1e308), one(0.1), 0.1).item<double>() == Approx(1e308));
  CHECK(std::isinf(addcdiv(one(0), one(1e308), one(10), 10).item<double>()));
  const int64_t large = (int64_t{1} << 62) + 3, odd = (int64_t{1} << 53) + 1;
  const auto whole = [](const std::vector<int64_t>& v) { return tensor(v, kInt64); };
  const Tensor x = whole({1, -5, large, odd}), a = whole({large, odd, 3, odd}), b = whole({3, odd, -7, 3});
  // Expected values: PyTorch 2.15.
  CHECK(x.addcmul(a, b, Scalar(odd))
            .equal(whole({-4530621225134718966, 27021597764222972, 4422534834077827054, 63050394783186948})));
  CHECK(x.addcmul(a, b, 3).equal(
      whole({4611686018427387932, 54043195528445950, 4611686018427387844, 90071992547409930})));
}

TEST_CASE("operations made of others give in place what they give beside, gradients included", "[forms]") {
  for (const InplaceForm& op : kInplaceForms) {
    CAPTURE(op.name);
    Tensor plain = fractions(), alias = plain.view({9});
    const uint32_t version = plain._version();
    const Tensor want = op.call(fractions());
    CHECK(&op.inplace(plain) == &plain);
    CHECK(same_elements(plain, want));
    CHECK(same_elements(alias.view({3, 3}), want));
    CHECK(plain._version() > version);
    Tensor a = fractions().requires_grad_(), b = fractions().requires_grad_();
    const Tensor y = op.call(a * 1), weights = fractions();
    (y * weights).sum().backward();
    Tensor x = b * 1;
    (op.inplace(x) * weights).sum().backward();
    CHECK(same_elements(b.grad(), a.grad()));
    Tensor leaf = fractions().requires_grad_();
    CHECK_THROWS_AS(op.inplace(leaf), Error);
  }
}

TEST_CASE("addmv_ and baddbmm_ give in place what they give beside, gradients included", "[forms]") {
  const auto check = [](const Tensor& start, const auto& beside, const auto& inplace) {
    Tensor a = start.detach().requires_grad_(), b = start.clone().detach().requires_grad_();
    const Tensor want = beside(a * 1);
    Tensor x = b * 1;
    CHECK(&inplace(x) == &x);
    CHECK(same_elements(x, want));
    (want * start).sum().backward();
    (x * start).sum().backward();
    CHECK(same_elements(b.grad(), a.grad()));
  };
  const Tensor matrix = fractions(), vector = operand_of_three(), batch = fractions().unsqueeze(0);
  check(
      operand_of_three(), [&](const Tensor& x) { return x.addmv(matrix, vector, 0.5, 2); },
      [&](Tensor& x) -> Tensor& { return x.addmv_(matrix, vector, 0.5, 2); });
  check(
      halves().unsqueeze(0), [&](const Tensor& x) { return x.baddbmm(batch, batch, 0.5, 2); },
      [&](Tensor& x) -> Tensor& { return x.baddbmm_(batch, batch, 0.5, 2); });
}

TEST_CASE("operations made of others write into an output", "[forms]") {
  for (const OutForm& op : kOutForms) {
    CAPTURE(op.name);
    const Tensor x = fractions(), y = halves(), want = op.call(x, y);
    Tensor out = zeros({3, 3}, kFloat64), grown = empty({0}, kFloat64), other = zeros({4, 3}, kFloat64);
    CHECK(&op.out(out, x, y) == &out);
    CHECK(same_elements(out, want));
    CHECK(same_elements(op.out(grown, x, y), want));
    CHECK(same_elements(op.out(other, x, y), want));
    Tensor whole = zeros({3, 3}, kInt64);
    CHECK_THROWS_AS(op.out(whole, x, y), Error);
    CHECK_THROWS_WITH(op.out(out, fractions().requires_grad_(), y), Contains("NoGradGuard"));
  }
  Tensor out = empty({0}, kFloat64);
  CHECK(same_elements(polygamma_out(out, 2, fractions()), polygamma(2, fractions())));
  CHECK(same_elements(xlogy_out(out, 2.5, fractions()), xlogy(2.5, fractions())));
  CHECK(same_elements(special_zeta_out(out, 2.5, fractions()), special::zeta(2.5, fractions())));
}

TEST_CASE("a form in place is refused where its tensor cannot hold the result", "[forms]") {
  Tensor whole = arange(1, 4), single = ones({3}), row = ones({3}), wide = ones({2, 3});
  CHECK_THROWS_WITH(whole.deg2rad_(), Contains("deg2rad_"));
  CHECK_THROWS_WITH(whole.xlogy_(2), Contains("xlogy_"));
  CHECK_THROWS_WITH(single.float_power_(2), Contains("float_power_") && Contains("float64"));
  CHECK_THROWS_WITH(row.hypot_(wide), Contains("hypot_"));
  CHECK_THROWS_WITH(row.addmv_(wide, row), Contains("addmv"));
  CHECK(same_elements(whole.cumsum_(0), tensor({1, 3, 6})));
  Tensor bytes = tensor({3, 4}).to(kInt8);
  CHECK(same_elements(bytes.cumprod_(0), tensor({3, 12}).to(kInt8)));
  CHECK(same_elements(gcd_(whole, tensor({2, 2, 4})), tensor({1, 1, 2})));
  CHECK(same_elements(lcm_(whole, tensor({2, 3, 4})), tensor({2, 3, 4})));
}

TEST_CASE("special functions take integers as the default floating dtype", "[forms]") {
  const Tensor whole = tensor({3, 4, 7}), single = whole.to(kFloat32);
  CHECK(same_elements(mvlgamma(whole, 3), mvlgamma(single, 3)));
  CHECK(same_elements(polygamma(2, whole), polygamma(2, single)));
  CHECK(same_elements(special::entr(whole), special::entr(single)));
}

TEST_CASE("hardswish's gradient below -3 is 0 whatever is above it, and a NaN hands it on", "[forms]") {
  const Tensor x = tensor({-4.0, -3.0, -1.5, 3.0, 4.0, NAN}).requires_grad_();
  hardswish(x).backward(tensor({NAN, INFINITY, 2.0, 2.0, 2.0, 2.0}));
  CHECK(same_elements(x.grad(), tensor({0.0, 0.0, 0.0, 2.0, 2.0, 2.0})));
}

TEST_CASE("nextafter steps by one in the bits of half types", "[forms]") {
  const double inf = INFINITY, nan = NAN;
  for (const DType type : {kFloat16, kBFloat16}) {
    const bool half = type == kFloat16;
    const double most = half ? 65504 : 3.3895313892515355e38, least = half ? 0x1p-24 : 0x1p-133;
    const double gap = half ? 0x1p-10 : 0x1p-7;  // gap above 1; below 1 it is half of that
    const Tensor x = tensor({1., 1., -1., 0., -0., inf, most, 2., least, nan, 1.}, kFloat64).to(type);
    const Tensor y = tensor({2., 0., inf, -1., 3., 0., inf, 2., 0., 1., nan}, kFloat64).to(type);
    const Tensor want =
        tensor({1 + gap, 1 - gap / 2, -1 + gap / 2, -least, least, most, inf, 2., 0.}, kFloat64).to(type);
    Tensor z = nextafter(x, y), in_place = x.clone(), given = empty({0}, type);
    CHECK(z.slice(0, 0, 9).equal(want));
    CHECK(z.slice(0, 9).isnan().all().item<bool>());
    CHECK(in_place.nextafter_(y).slice(0, 0, 9).equal(want));
    CHECK(nextafter_out(given, x, y).slice(0, 0, 9).equal(want));
  }
}

TEST_CASE("operations of integers and exact floats refuse other dtypes by name", "[forms]") {
  const Tensor x = ones({2}), whole = tensor({1, 2});
  CHECK_THROWS_WITH(gcd(x, x), Contains("gcd") && Contains("integers"));
  CHECK_THROWS_WITH(bitwise_left_shift(whole > 1, whole > 1), Contains("bitwise_left_shift"));
  CHECK_THROWS_WITH(nextafter(whole, whole), Contains("nextafter") && Contains("floating point"));
  CHECK_THROWS_WITH(igamma(whole, whole), Contains("igamma") && Contains("floating point"));
  CHECK_THROWS_WITH(polygamma(-1, x), Contains("polygamma"));
  CHECK_THROWS_WITH(mvlgamma(x, 0), Contains("mvlgamma"));
  CHECK_THROWS_WITH(frexp(whole), Contains("frexp"));
  CHECK_THROWS_WITH(x.div(x, "up"),
                    Contains("div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"));
  CHECK_THROWS_WITH(x.masked_fill(x > 0, x), Contains("masked_fill only supports a 0-dimensional value tensor"));
  Tensor leaf = ones({2}).requires_grad_();
  const Tensor y = igamma(leaf, x);
  CHECK_THROWS_WITH(y.sum().backward(), Contains("igamma") && Contains("first argument"));
}

TEST_CASE("operators take a number on either side, and bits have theirs in place", "[forms]") {
  const Tensor x = tensor({1, 2, 3});
  CHECK(same_elements(2 < x, tensor({false, false, true})));
  CHECK(same_elements(2 >= x, tensor({true, true, false})));
  CHECK(same_elements(2 == x, tensor({false, true, false})));
  CHECK(same_elements(2 != x, x != 2));
  CHECK(same_elements(7 % x, tensor({0, 1, 1})));
  CHECK(same_elements((6 & x) | (1 ^ x), tensor({0, 3, 2})));
  CHECK(same_elements(~x, tensor({-2, -3, -4})));
  Tensor y = x.clone();
  y &= tensor({3, 3, 1}), y |= tensor({4, 4, 4}), y ^= tensor({1, 1, 1});
  CHECK(same_elements(y, tensor({4, 7, 4})));
}

TEST_CASE("namespace special has the functions under their names there", "[forms]") {
  const Tensor x = fractions(), y = halves();
  CHECK(same_elements(special::erf(x), erf(x)));
  CHECK(same_elements(special::gammaln(x), lgamma(x)));
  CHECK(same_elements(special::psi(x), x.digamma()));
  CHECK(same_elements(special::expit(x), sigmoid(x)));
  CHECK(same_elements(special::gammaincc(x, y), igammac(x, y)));
  CHECK(same_elements(special::multigammaln(x + 1, 2), mvlgamma(x + 1, 2)));
  CHECK(same_elements(special::polygamma(1, x), polygamma(1, x)));
  CHECK(same_elements(special::xlog1py(x, y), special_xlog1py(x, y)));
  CHECK(same_elements(special::softmax(x.to(kFloat32), 1, kFloat64), x.to(kFloat32).to(kFloat64).softmax(1)));
  CHECK(same_elements(special::logsumexp(x, {0}), x.logsumexp({0})));
}

// Expected values: PyTorch's.
TEST_CASE("values and derivatives where a formula has its edge", "[forms][edges]") {
  CHECK_FALSE(tensor(1.0).allclose(tensor(INFINITY)));
  CHECK(tensor(INFINITY).allclose(tensor(INFINITY)));
  CHECK(tensor({1}, kInt64).clamp(tensor(1.0, kFloat32), tensor(1.0, kFloat64)).dtype() == kFloat64);

  const Tensor slope = gelu_backward(tensor(1.0, kFloat32), tensor(1.0, kFloat64));  // arguments of two dtypes
  CHECK(slope.dtype() == kFloat64);
  CHECK(slope.item<double>() == Approx(1.0833154705876864).epsilon(1e-15));

  const float inf = INFINITY;
  Tensor x = tensor({{1.f, 1.f, -inf, 0.f}, {1.f, 1.f, 1.f, -inf}, {0.f, 1.f, 1.f, 1.f}}).requires_grad_();
  Tensor z = tensor({1.f, 0.f, -0.f, inf}).requires_grad_();
  z.cumprod(0).backward(ones({4}));
  CHECK(same_elements(z.grad(), tensor({1.f, 1.f, 0.f, 0.f})));
  x.cumprod(1).backward(ones({3, 4}));  // an element before a 0 does not affect the products after the 0
  CHECK(same_elements(x.grad(), tensor({{-inf, -inf, NAN, -inf}, {-inf, -inf, -inf, NAN}, {4.f, 0.f, 0.f, 0.f}})));

  Tensor at = tensor({0.5, 0.25}, kFloat64).requires_grad_();  // at the threshold (0.5) the second derivative is 0
  const Tensor first = autograd::grad({softplus(at, 2.0, 1.0).sum()}, {at}, {}, true, true)[0];
  first.sum().backward();
  const double s = 1 / (1 + std::exp(-0.5));
  CHECK(at.grad().allclose(tensor({0.0, 2 * s * (1 - s)}, kFloat64), 1e-14, 0));

  Tensor mean = ones({2}, kFloat16), var = ones({2}, kFloat16);  // their batch variance overflows float16
  batch_norm(tensor({{1, 1}, {1, 1000}}).to(kFloat16), {}, {}, mean, var, true, 0.1, 1e-3);
  CHECK(same_elements(var, tensor({0.89990234375, 49888.0}).to(kFloat16)));
}
