// Tests initial values (bounds, moments, fan-in and fan-out) and gradient clipping.
#include <cmath>
#include <limits>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/formula.h"

using namespace tandem;
using namespace tandem::nn;

namespace {

double average(const Tensor& t) { return t.detach().to(kFloat64).mean().item<double>(); }
double deviation(const Tensor& t) { return t.detach().to(kFloat64).std().item<double>(); }
/// Checks that all elements are within the bound, that some are close to it, and that mean and standard deviation match
/// a
/// uniform distribution within six standard errors.
void is_uniform(const Tensor& t, double bound) {
  const double n = static_cast<double>(t.numel()), sigma = bound / std::sqrt(3.0);
  CHECK(t.abs().max().item<double>() <= bound * (1 + 1e-6));  // 1e-6: the bound is rounded to float
  CHECK(t.abs().max().item<double>() > 0.99 * bound);
  CHECK(std::abs(average(t)) < 6 * sigma / std::sqrt(n));
  CHECK(std::abs(deviation(t) - sigma) < 6 * sigma / std::sqrt(n));
}
void is_normal(const Tensor& t, double center, double sigma) {
  const double n = static_cast<double>(t.numel());
  CHECK(std::abs(average(t) - center) < 6 * sigma / std::sqrt(n));
  CHECK(std::abs(deviation(t) - sigma) < 6 * sigma / std::sqrt(2 * n));
  // the largest of at least 12000 values lies in the tails
  CHECK(t.sub(center).abs().max().item<double>() > 3 * sigma);
}
Tensor with_grad(const std::vector<float>& grad) {
  const Tensor p = zeros({static_cast<int64_t>(grad.size())}).requires_grad_();
  p.set_grad(tensor(grad));
  return p;
}

}  // namespace

TEST_CASE("fans count inputs and outputs of a unit, the kernel's area included", "[nn][init]") {
  CHECK(init::calculate_fan_in_and_fan_out(empty({5, 3})) == std::tuple<int64_t, int64_t>(3, 5));
  CHECK(init::calculate_fan_in_and_fan_out(empty({8, 4, 3, 2})) == std::tuple<int64_t, int64_t>(24, 48));
  CHECK_THROWS_WITH(init::calculate_fan_in_and_fan_out(empty({5})),
                    Contains("cannot be computed for tensor with fewer than 2"));
}

TEST_CASE("gains are PyTorch's", "[nn][init]") {
  CHECK(init::calculate_gain(kLinear) == 1);
  CHECK(init::calculate_gain(kSigmoid) == 1);
  CHECK(init::calculate_gain(kTanh) == Approx(1.6666666666666667));
  CHECK(init::calculate_gain(kReLU) == Approx(1.4142135623730951));
  CHECK(init::calculate_gain(kLeakyReLU) == Approx(1.4141428569978354));
  CHECK(init::calculate_gain(kLeakyReLU, 0.2) == Approx(1.3867504905630728));
}

TEST_CASE("initial values have the bounds and moments that the papers give", "[nn][init]") {
  manual_seed(3);
  const Tensor w = empty({60, 50, 2, 2}).requires_grad_();  // fan-in 200, fan-out 240
  is_uniform(init::uniform_(w, -0.5, 0.5), 0.5);
  is_normal(init::normal_(w, 2, 0.5), 2, 0.5);
  is_uniform(init::xavier_uniform_(w), std::sqrt(6.0 / 440));
  is_uniform(init::xavier_uniform_(w, 3), 3 * std::sqrt(6.0 / 440));
  is_normal(init::xavier_normal_(w, 2), 0, 2 * std::sqrt(2.0 / 440));
  is_uniform(init::kaiming_uniform_(w), std::sqrt(6.0 / 200));
  is_uniform(init::kaiming_uniform_(w, std::sqrt(5.0)), 1 / std::sqrt(200.0));
  is_uniform(init::kaiming_uniform_(w, 0, kFanOut, kReLU), std::sqrt(6.0 / 240));
  is_normal(init::kaiming_normal_(w, 0, kFanOut, kReLU), 0, std::sqrt(2.0 / 240));
  is_normal(init::kaiming_normal_(w, 0, kFanIn, kTanh), 0, 5.0 / 3 / std::sqrt(200.0));
  CHECK(init::constant_(w, 1.5).equal(full(w.sizes(), 1.5)));
  CHECK(init::ones_(w).equal(ones(w.sizes())));
  CHECK(init::zeros_(w).equal(zeros(w.sizes())));
  CHECK(w.is_leaf());  // not recorded by autograd
  CHECK(w.requires_grad());
}

TEST_CASE("layers start as PyTorch's do", "[nn][init]") {
  manual_seed(4);
  Linear linear(100, 300);
  is_uniform(linear->weight, 0.1);
  is_uniform(linear->bias, 0.1);
  Conv2d conv(Conv2dOptions(8, 64, 5).groups(2));  // fan-in 4 * 25
  is_uniform(conv->weight, 0.1);
  CHECK(conv->bias.abs().max().item<double>() <= 0.1);
  Embedding table(EmbeddingOptions(300, 50).padding_idx(-1));
  is_normal(table->weight.slice(0, 0, 299), 0, 1);
  CHECK(table->weight[299].equal(zeros({50})));
}

TEST_CASE("clip_grad_norm_ scales to the joint norm, and leaves smaller ones", "[nn][clip]") {
  const auto parameters = [] { return std::vector<Tensor>{with_grad({3, 0}), with_grad({-4}), zeros({1})}; };
  struct Row {
    double p, norm;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Row& row : {Row{2, 5}, {1, 7}, {infinity, 4}, {3, std::cbrt(91.0)}}) {
    INFO("norm " << row.p);
    auto p = parameters();
    CHECK(utils::clip_grad_norm_(p, 1, row.p) == Approx(row.norm));
    // Tolerance 1e-5: PyTorch divides by the norm + 1e-6.
    CHECK(p[0].grad().sub(tensor({3.f, 0.f}) / row.norm).abs().max().item<double>() < 1e-5);
    CHECK(p[1].grad().item<double>() == Approx(-4 / row.norm).epsilon(1e-5));
    CHECK_FALSE(p[2].grad().defined());
    p = parameters();
    utils::clip_grad_norm_(p, 100, row.p);
    CHECK(p[0].grad().equal(tensor({3.f, 0.f})));
  }
  // PyTorch divides by the norm + 1e-6, which matters if the norm is as small as that: 1e-6 / (5e-6 + 1e-6).
  const Tensor tiny = with_grad({3e-6f, 4e-6f});
  CHECK(utils::clip_grad_norm_(tiny, 1e-6) == Approx(5e-6));
  CHECK(tiny.grad().allclose(tensor({5e-7f, 4e-6f / 6}), 1e-5, 0));  // 1e-5: float32 rounding
  const Tensor strided = zeros({2, 2}).requires_grad_();
  strided.set_grad(tensor({{3.f, 0.f}, {0.f, 4.f}}).t());
  CHECK(utils::clip_grad_norm_(strided, 1) == Approx(5));
  CHECK(strided.grad().allclose(tensor({{0.6f, 0.f}, {0.f, 0.8f}}), 1e-5));
  utils::clip_grad_value_({strided}, 0.7);
  CHECK(strided.grad().allclose(tensor({{0.6f, 0.f}, {0.f, 0.7f}}), 1e-5));
  CHECK(utils::clip_grad_norm_(std::vector<Tensor>{zeros({1})}, 1) == 0);
  CHECK(utils::clip_grad_norm_(with_grad({0, 0}), 1) == 0);
  CHECK(utils::clip_grad_norm_(with_grad({6, 8}), 1) == Approx(10));
}

/// Returns values from -1 to 1 that are the same in every run.
Tensor numbers(IntArrayRef sizes) {
  const int64_t n = numel_of(sizes);
  std::vector<double> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(test::value(i, 1));
  return tensor(values, kFloat32).view(sizes);
}

TEST_CASE("get_total_norm and clip_grads_with_norm_ do together what clip_grad_norm_ does", "[nn][clip]") {
  for (const double norm_type : {2.0, 1.0, 3.0, HUGE_VAL})
    for (const double max_norm : {0.5, 100.0}) {
      CAPTURE(norm_type, max_norm);
      const std::vector<Tensor> one = {with_grad({3, -4, 0})}, two = {with_grad({3, -4, 0})};
      const double norm = utils::clip_grad_norm_(one, max_norm, norm_type);
      const Tensor total = utils::get_total_norm({two[0].grad()}, norm_type);
      CHECK(total.dim() == 0);
      CHECK(total.item<double>() == Approx(norm));
      utils::clip_grads_with_norm_(two, max_norm, total);
      CHECK(two[0].grad().allclose(one[0].grad()));
    }
  CHECK(utils::get_total_norm({}).item<double>() == 0);
  CHECK_THROWS_WITH(
      utils::get_total_norm({full({2}, HUGE_VAL)}, 2, true),
      Contains("get_total_norm: The total norm of order 2 for gradients from `parameters` is non-finite"));
  CHECK_THROWS_WITH(utils::clip_grads_with_norm_({}, 1, ones({2})), Contains("total_norm is (2,)"));
}

TEST_CASE("clip_grad_norm_ takes gradients of every size, dtype and layout together", "[nn][clip]") {
  std::vector<Tensor> parameters;
  const auto add = [&](const Tensor& g) {
    parameters.push_back(empty(g.sizes(), g.dtype()));
    parameters.back().set_grad(g);
  };
  add(numbers({100, 700}));  // large enough for several partial sums
  add(numbers({7}).to(kFloat64));
  add(numbers({5, 6}).t());
  add(numbers({3}).to(kBFloat16));
  add(empty({0, 2}));
  parameters.push_back(parameters[0]);  // a parameter that is listed twice
  double squares = 0;
  std::vector<Tensor> before;
  for (size_t i = 0; i < 5; ++i) {
    before.push_back(parameters[i].grad().to(kFloat64).clone());
    squares += before[i].mul(before[i]).sum().item<double>();
  }
  const double norm = std::sqrt(squares);
  // the norm of the bfloat16 gradient has 8 bits
  CHECK(utils::clip_grad_norm_(parameters, 2) == Approx(norm).epsilon(1e-3));
  for (size_t i = 0; i < 5; ++i) {
    INFO("gradient " << i);
    const double digits = i == 3 ? 1e-2 : 1e-3;
    CHECK(allclose(parameters[i].grad().to(kFloat64), before[i] * (2 / norm), digits, 1e-12));
    CHECK(parameters[i].grad()._version() > 0);
  }
}

TEST_CASE("clip_grad_norm_ refuses a norm that is not finite only when asked to", "[nn][clip]") {
  const float bad = GENERATE(std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN());
  const Tensor p = with_grad({1, bad});
  CHECK_THROWS_WITH(utils::clip_grad_norm_(p, 1, 2, /*error_if_nonfinite=*/true), Contains("clip_grad_norm_"));
  CHECK(p.grad()[0].item<float>() == 1);
  CHECK_FALSE(std::isfinite(utils::clip_grad_norm_(p, 1)));
}

TEST_CASE("clip_grad_value_ clamps each gradient", "[nn][clip]") {
  const Tensor p = with_grad({3, -0.25, -8});
  utils::clip_grad_value_({p}, 0.5);
  CHECK(p.grad().equal(tensor({0.5f, -0.25f, -0.5f})));
}

TEST_CASE("an orthogonal matrix times its transpose is the gain's square", "[nn][init]") {
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{5, 3}, {3, 5}, {4, 4}, {3, 2, 4}}) {
    const Tensor x = init::orthogonal_(empty(sizes, kFloat64), 2.0), flat = x.flatten(1);
    const bool tall = flat.size(0) > flat.size(1);
    const Tensor product = tall ? flat.t().matmul(flat) : flat.matmul(flat.t());
    CHECK(product.allclose(4 * eye(product.size(0), kFloat64), 0, 1e-12));
  }
  CHECK_THROWS_WITH(init::orthogonal_(empty({3})), Contains("(3,)"));
}
TEST_CASE("the identity, of matrices and of convolutions", "[nn][init]") {
  CHECK(init::eye_(empty({2, 3}).requires_grad_()).equal(eye(2, 3)));
  const Tensor x = randn({2, 3, 7}), w = init::dirac_(empty({4, 3, 3}));
  const Tensor y = conv1d(x, w, {}, 1, 1);
  CHECK(y.slice(1, 0, 3).allclose(x));
  CHECK(y.select(1, 3).equal(zeros({2, 7})));
  const Tensor image = randn({1, 2, 4, 5});
  CHECK(conv2d(image, init::dirac_(empty({2, 2, 3, 5})), {}, 1, {1, 2}).allclose(image));
  CHECK_THROWS_WITH(init::dirac_(empty({3, 3})), Contains("(3, 3)"));
  CHECK_THROWS_WITH(init::eye_(empty({3})), Contains("(3,)"));
}
TEST_CASE("a sparse matrix has zeros in each column", "[nn][init]") {
  const Tensor x = init::sparse_(empty({10, 40}), 0.25, 3);
  CHECK((x == 0).sum(0).equal(full({40}, 3)));  // 2.5, rounded up
  CHECK(deviation(x.masked_select(x != 0)) == Approx(3).margin(0.6));
  CHECK_THROWS_WITH(init::sparse_(x, 1.5), Contains("1.5"));
}
