// Tests activation and similarity modules: their values against written-out formulas, how they print, and what clone()
// copies.
#include <cmath>
#include <functional>
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace F = nn::functional;

static std::string shown(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST_CASE("modules of activations are their formulas, and print as Python's", "[nn][layers]") {
  struct Case {
    nn::AnyModule module;
    const char* text;
    std::function<double(double)> formula;
  };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::vector<Case> cases = {
      {nn::SELU(), "SELU()",
       [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
      {nn::Mish(), "Mish()", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {nn::ReLU6(), "ReLU6()", [](double x) { return std::min(std::max(x, 0.0), 6.0); }},
      {nn::Softsign(), "Softsign()", [](double x) { return x / (1 + std::abs(x)); }},
      {nn::Tanhshrink(), "Tanhshrink()", [](double x) { return x - std::tanh(x); }},
      {nn::LogSigmoid(), "LogSigmoid()", [&](double x) { return std::log(sigmoid(x)); }},
      {nn::CELU(nn::CELUOptions(2)), "CELU(alpha=2.0)", [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {nn::Hardshrink(), "Hardshrink(0.5)", [](double x) { return std::abs(x) > 0.5 ? x : 0; }},
      {nn::Softshrink(nn::SoftshrinkOptions(0.25)), "Softshrink(0.25)",
       [](double x) { return x > 0.25    ? x - 0.25
                             : x < -0.25 ? x + 0.25
                                         : 0; }},
      {nn::Hardtanh(nn::HardtanhOptions().min_val(-2).max_val(0.5)), "Hardtanh(min_val=-2.0, max_val=0.5)",
       [](double x) { return std::min(std::max(x, -2.0), 0.5); }},
      {nn::Hardswish(), "Hardswish()", [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
      {nn::Hardsigmoid(), "Hardsigmoid()", [](double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
      {nn::Softplus(nn::SoftplusOptions().beta(2).threshold(10)), "Softplus(beta=2.0, threshold=10.0)",
       [](double x) { return 2 * x > 10 ? x : std::log1p(std::exp(2 * x)) / 2; }},
      {nn::Threshold(0.1, 20), "Threshold(threshold=0.1, value=20.0)", [](double x) { return x > 0.1 ? x : 20; }},
      {nn::PReLU(nn::PReLUOptions().init(0.1)), "PReLU(num_parameters=1)",
       [](double x) { return x > 0 ? x : 0.1 * x; }},
  };
  const Tensor x = tensor({-7.5, -1.0, -0.3, -0.0, 0.05, 0.3, 1.0, 5.5, 7.5});
  REQUIRE(x.dtype() == kFloat32);
  for (const Case& c : cases) {
    INFO(c.text);
    CHECK(shown(*c.module.ptr()) == c.text);
    const Tensor y = c.module.forward(x);
    for (int64_t i = 0; i < x.size(0); ++i) {
      INFO(x[i].item<double>());
      // Tolerance: 4 float32 units in the last place, of the value or of a number that the formula subtracts.
      CHECK(y[i].item<double>() == Approx(c.formula(x[i].item<double>())).epsilon(5e-7).margin(5e-7));
    }
    const nn::AnyModule copy = c.module.clone();
    CHECK(copy.forward(x).equal(y));
    CHECK(shown(*copy.ptr()) == c.text);
  }
}

TEST_CASE("activations keep the shape of a scalar and of a tensor without elements", "[nn][layers]") {
  const Tensor weight = full({1}, 0.25);
  const std::function<Tensor(const Tensor&)> functions[] = {
      [&](const Tensor& x) { return x.prelu(weight); },
      [](const Tensor& x) { return rrelu(x, 0.25, 0.25, true); },
      [](const Tensor& x) { return leaky_relu(x, 0.25); },
      [](const Tensor& x) { return threshold(x, 0, -1) + where(x > 0, 0, x * 0.25 + 1); },
  };
  for (size_t i = 0; i < std::size(functions); ++i) {
    CAPTURE(i);
    for (const double value : {-2.0, 2.0}) {
      const Tensor x = full({}, value).requires_grad_(), y = functions[i](x);
      CHECK(y.sizes() == IntArrayRef());
      CHECK(y.item<double>() == (value > 0 ? value : value / 4));
      y.backward();
      CHECK(x.grad().equal(full({}, value > 0 ? 1 : 0.25)));
    }
    CHECK(functions[i](zeros({0, 3})).sizes() == IntArrayRef{0, 3});
  }
}

TEST_CASE("RReLU draws its slopes in training, and takes their middle else", "[nn][layers]") {
  nn::RReLU module(nn::RReLUOptions().lower(0.25).upper(0.5));
  CHECK(shown(*nn::RReLU()) == "RReLU(lower=0.125, upper=0.3333333333333333)");
  const Tensor x = full({1000}, -1.0);
  const Tensor slopes = -module(x);
  CHECK(slopes.ge(0.25).all().item<bool>());
  CHECK(slopes.lt(0.5).all().item<bool>());
  CHECK(slopes.std().item<double>() > 0.05);  // a uniform distribution has 0.25 / sqrt(12) = 0.07
  module->eval();
  CHECK(module(x).equal(full({1000}, -0.375)));
  CHECK(module(ones({3})).equal(ones({3})));
}

TEST_CASE("modules along a dimension", "[nn][layers]") {
  const Tensor x = arange(24, kFloat32).reshape({2, 2, 2, 3}) * 0.1;
  CHECK(nn::GLU(nn::GLUOptions(1))(x).equal(x.narrow(1, 0, 1) * x.narrow(1, 1, 1).sigmoid()));
  CHECK(nn::Softmin(nn::SoftminOptions(-1))(x).equal(softmax(-x, 3)));
  CHECK(nn::Softmax2d()(x).equal(softmax(x, 1)));
  CHECK(nn::Softmax2d()(x[0]).equal(softmax(x[0], 0)));
  CHECK_THROWS_WITH(nn::Softmax2d()(x[0][0]), Contains("Softmax2d requires a 3D or 4D tensor as input"));
  CHECK(nn::Unflatten(1, std::vector<int64_t>{1, 2})(x).sizes() == IntArrayRef{2, 1, 2, 2, 3});
  CHECK(shown(*nn::Unflatten(1, std::vector<int64_t>{2, 3})) == "Unflatten(dim=1, unflattened_size=(2, 3))");
  CHECK(shown(*nn::GLU()) == "GLU(dim=-1)");
  CHECK(shown(*nn::Softmin(1)) == "Softmin(dim=1)");
}

TEST_CASE("PReLU trains a weight for each channel", "[nn][layers]") {
  nn::PReLU module(nn::PReLUOptions().num_parameters(2));
  const Tensor x = tensor({-1.0, 2.0, -3.0, -4.0}).reshape({2, 2});
  CHECK(module(x).equal(tensor({-0.25, 2.0, -0.75, -1.0}).reshape({2, 2})));
  module(x).sum().backward();
  CHECK(module->weight.grad().equal(tensor({-4.0, -4.0})));
  CHECK(module->named_parameters().keys() == std::vector<std::string>{"weight"});
  CHECK_THROWS_WITH(nn::PReLU(nn::PReLUOptions().num_parameters(0)), Contains("num_parameters is 0"));
}

TEST_CASE("modules of similarities", "[nn][layers]") {
  const Tensor a = tensor({3.0, 4.0, 1.0, 0.0}).reshape({2, 2}), b = tensor({4.0, 3.0, 0.0, 2.0}).reshape({2, 2});
  const Tensor similar = nn::CosineSimilarity()(a, b);
  CHECK(similar[0].item<double>() == Approx(24.0 / 25).epsilon(1e-6));  // float32 rounding
  CHECK(similar[1].item<double>() == Approx(0).margin(1e-6));
  const Tensor far = nn::PairwiseDistance(nn::PairwiseDistanceOptions().p(1).eps(0).keepdim(true))(a, b);
  CHECK(far.equal(tensor({2.0, 3.0}).reshape({2, 1})));
  CHECK(F::cosine_similarity(a, b, F::CosineSimilarityFuncOptions().dim(0)).size(0) == 2);
}

TEST_CASE("functional activations take their options", "[nn][functional]") {
  const Tensor x = tensor({-2.0, -0.25, 0.25, 2.0});
  CHECK(F::hardtanh(x, F::HardtanhFuncOptions().max_val(1)).equal(tensor({-1.0, -0.25, 0.25, 1.0})));
  CHECK(F::hardshrink(x, 0.25).equal(tensor({-2.0, 0.0, 0.0, 2.0})));
  CHECK(F::softshrink(x, 0.25).equal(tensor({-1.75, 0.0, 0.0, 1.75})));
  CHECK(F::threshold(x, F::ThresholdFuncOptions(0, 9)).equal(tensor({9.0, 9.0, 0.25, 2.0})));
  CHECK(
      F::rrelu(x, F::RReLUFuncOptions().lower(0.5).upper(0.5).training(true)).equal(tensor({-1.0, -0.125, 0.25, 2.0})));
  CHECK(F::logsigmoid(x).equal(log_sigmoid(x)));
  CHECK(F::celu(x).equal(celu(x)));
  CHECK(F::softplus(x).equal(softplus(x)));
  CHECK(F::glu(x).equal(tensor({-2.0, -0.25}) * tensor({0.25, 2.0}).sigmoid()));
}

}  // namespace tandem
