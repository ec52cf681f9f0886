// Tests losses against written-out sums: class weights, ignored targets, label smoothing, saturated probabilities.
#include <cmath>
#include <limits>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

struct Expected {
  std::vector<double> losses;
  double weights = 0;  // sum of the weights of targets that are not ignored
};
/// Computes cross-entropy from its definition: -sum_c q[c] w[c] log p[c], where q is the target smoothed by s.
Expected by_definition(const Tensor& x, const std::vector<int64_t>& target, const std::vector<double>& w,
                       int64_t ignored, double s) {
  Expected e;
  const int64_t classes = x.size(1);
  for (int64_t n = 0; n < x.size(0); ++n) {
    double norm = 0, loss = 0;
    const int64_t t = target[static_cast<size_t>(n)];
    for (int64_t c = 0; c < classes; ++c) norm += std::exp(x[n][c].item<double>());
    for (int64_t c = 0; c < classes; ++c) {
      const double q = (c == t ? 1 - s : 0) + s / static_cast<double>(classes);
      loss -= q * w[static_cast<size_t>(c)] * (x[n][c].item<double>() - std::log(norm));
    }
    e.losses.push_back(t == ignored ? 0 : loss);
    e.weights += t == ignored ? 0 : w[static_cast<size_t>(t)];
  }
  return e;
}

}  // namespace

TEST_CASE("cross-entropy is its definition, with weights, ignored targets and smoothing", "[nn][loss]") {
  manual_seed(6);
  const bool weighted = GENERATE(false, true), ignoring = GENERATE(false, true);
  const double smoothing = GENERATE(0.0, 0.2);
  const std::vector<double> w = weighted ? std::vector<double>{0.5, 2, 1.5} : std::vector<double>{1, 1, 1};
  const std::vector<int64_t> t{2, 0, 1, 1, 2};
  const int64_t ignored = ignoring ? 1 : -100;
  const Tensor x = randn({5, 3}, kFloat64), target = tensor(t);
  const Expected e = by_definition(x, t, w, ignored, smoothing);
  double sum = 0;
  for (const double l : e.losses) sum += l;
  auto options = nn::CrossEntropyLossOptions().ignore_index(ignored).label_smoothing(smoothing);
  if (weighted) options.weight(tensor(w, kFloat64));
  CHECK(nn::CrossEntropyLoss(options)(x, target).item<double>() == Approx(sum / e.weights));
  CHECK(nn::CrossEntropyLoss(options.reduction(kSum))(x, target).item<double>() == Approx(sum));
  const Tensor each = nn::CrossEntropyLoss(options.reduction(kNone))(x, target);
  for (int64_t n = 0; n < 5; ++n) CHECK(each[n].item<double>() == Approx(e.losses[static_cast<size_t>(n)]));
}

TEST_CASE("cross-entropy in one step is nll of log-softmax, gradients and half types included", "[nn][loss]") {
  manual_seed(9);
  const Reduction reduction = GENERATE(kNone, kMean, kSum);
  const bool weighted = GENERATE(false, true);
  const DType dtype = GENERATE(kFloat64, kFloat32, kBFloat16);
  // Tolerance in float32: a few roundings of logarithms below 10. In bfloat16 each result rounds to 8 bits, and the
  // separate log-softmax rounds once more.
  const double bound = dtype == kFloat64 ? 1e-14 : dtype == kFloat32 ? 3e-6 : 0.04;
  for (const Shape& sizes : {Shape{7}, Shape{6, 7}, Shape{4, 7, 3}, Shape{2, 7, 3, 2}, Shape{0, 7}}) {
    CAPTURE(reduction, weighted, dtype, sizes);
    Shape places = sizes;
    places.erase(sizes.size() > 1 ? 1 : 0);
    const Tensor target = randint(7, places),
                 weight = weighted ? rand({7}, dtype == kFloat64 ? kFloat64 : kFloat32) + 0.5 : Tensor();
    const Tensor x = (randn(sizes) * 3).to(dtype).requires_grad_(), y = x.detach().clone().requires_grad_();
    const Tensor loss = cross_entropy(x, target, weight, reduction, 2);
    const Tensor composed = nll_loss(log_softmax(y, sizes.size() > 1 ? 1 : 0), target, weight, reduction, 2);
    CHECK(loss.dtype() == dtype);
    CHECK(loss.sizes() == (reduction == kNone ? target.sizes() : IntArrayRef{}));
    CHECK(loss.to(kFloat64).allclose(composed.to(kFloat64), bound, bound, /*equal_nan=*/true));
    const Tensor slope = reduction == kNone ? randn(places).to(dtype) : ones({}, dtype);
    loss.backward(slope), composed.backward(slope);
    CHECK(x.grad().dtype() == dtype);
    CHECK(x.grad().to(kFloat64).allclose(y.grad().to(kFloat64), bound, bound, /*equal_nan=*/true));
  }
}

TEST_CASE("cross-entropy has derivatives of the first, second and third order", "[nn][loss]") {
  manual_seed(10);
  const Tensor weight = rand({4}, kFloat64) + 0.5, target = tensor({1, 3, 0, 2, 2});
  const Tensor x = randn({5, 4}, kFloat64).requires_grad_(), slope = randn({5}, kFloat64).requires_grad_();
  const Reduction reduction = GENERATE(kNone, kMean);
  const auto loss = [&](const std::vector<Tensor>& in) {
    const Tensor losses = cross_entropy(in[0], target, weight, reduction, 3);
    return std::vector<Tensor>{reduction == kNone ? (losses * in[1]).sum() : losses * in[1].sum()};
  };
  const auto slopes = [&](const std::vector<Tensor>& in) { return autograd::grad(loss(in), in, {}, true, true); };
  CHECK(autograd::gradcheck(loss, {x, slope}));
  CHECK(autograd::gradgradcheck(loss, {x, slope}));
  CHECK(autograd::gradgradcheck(slopes, {x, slope}));
}

TEST_CASE("a loss of classes names a target of another shape", "[nn][loss]") {
  const Tensor x = zeros({2, 3, 4, 5});
  CHECK_THROWS_WITH(cross_entropy(x, zeros({2, 5, 4}, kInt64)),
                    Contains("cross_entropy: x is (2, 3, 4, 5) and target is (2, 5, 4)"));
  CHECK_THROWS_WITH(nll_loss(x, zeros({2}, kInt64)), Contains("nll_loss: log_prob is (2, 3, 4, 5) and target is (2,)"));
  CHECK_THROWS_WITH(cross_entropy(zeros({3}), zeros({1}, kInt64)), Contains("accepted: (C,) and ()"));
}

TEST_CASE("with every target ignored, the mean is NaN, the sum and the gradient zero, as in PyTorch", "[nn][loss]") {
  const double smoothing = GENERATE(0.0, 0.1);
  const Tensor x = ones({2, 3}).requires_grad_(), target = full({2}, -100);
  const auto loss = [&](Reduction r) { return cross_entropy(x, target, {}, r, -100, smoothing); };
  CHECK(std::isnan(loss(kMean).item<float>()));
  CHECK(loss(kSum).item<float>() == 0);
  CHECK(loss(kNone).equal(zeros({2})));
  loss(kSum).backward();
  loss(kMean).backward();
  CHECK(x.grad().equal(zeros({2, 3})));
  CHECK(std::isnan(nll_loss(zeros({0, 3}), zeros({0}, kInt64)).item<float>()));  // an empty batch also gives NaN
  CHECK(std::isnan(mse_loss(zeros({0}), zeros({0})).item<float>()));
}

TEST_CASE("an ignored row that is infinite or NaN has no part in the loss, nor in the gradient", "[nn][loss]") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (const Reduction r : {kMean, kSum}) {
    const Tensor x = tensor({{1.f, 2.f}, {inf, nan}, {0.f, -1.f}}).requires_grad_(), target = tensor({0, -100, 1});
    const Tensor clean = x.detach().index_select(0, tensor({0, 2})).requires_grad_();
    const Tensor loss = cross_entropy(x, target, {}, r), want = cross_entropy(clean, tensor({0, 1}), {}, r);
    CHECK(loss.equal(want));
    loss.backward(), want.backward();
    CHECK(x.grad().equal(stack({clean.grad()[0], zeros({2}), clean.grad()[1]})));
    CHECK(cross_entropy(x, target, {}, r, -100, 0.1).allclose(cross_entropy(clean, tensor({0, 1}), {}, r, -100, 0.1)));
  }
}

TEST_CASE("an ignored target may lie outside the classes, any other may not", "[nn][loss]") {
  const Tensor x = zeros({2, 3});
  CHECK(nll_loss(x, tensor({0, 255}), {}, kMean, 255).item<float>() == 0);
  CHECK_THROWS_AS(nll_loss(x, tensor({0, 255})), IndexError);
  CHECK_THROWS_AS(nll_loss(x, tensor({0, -100}), {}, kMean, 255), IndexError);
}

TEST_CASE("losses of images take a target for each position", "[nn][loss]") {
  manual_seed(7);
  const Tensor x = randn({2, 3, 4, 5}, kFloat64), target = randint(0, 3, {2, 4, 5}, kInt64);
  const Tensor rows = x.permute({0, 2, 3, 1}).reshape({-1, 3});
  CHECK(cross_entropy(x, target).item<double>() == Approx(cross_entropy(rows, target.reshape({-1})).item<double>()));
  const Tensor each = cross_entropy(x, target, {}, kNone);
  CHECK(each.sizes() == IntArrayRef{2, 4, 5});
  CHECK(each.allclose(cross_entropy(rows, target.reshape({-1}), {}, kNone).view({2, 4, 5})));
}

TEST_CASE("binary cross-entropy has finite gradients where a probability is 0 or 1, PyTorch's", "[nn][loss]") {
  const Tensor x = tensor({0.f, 0.f, 1.f, 1.f, 0.25f}).requires_grad_(), t = tensor({0.f, 1.f, 0.f, 1.f, 1.f});
  const Tensor losses = binary_cross_entropy(x, t, {}, kNone);
  CHECK(losses.allclose(tensor({0.f, 100.f, 100.f, 0.f, 1.3862944f})));  // logarithms are clamped to at least -100
  losses.sum().backward();
  CHECK(x.grad().allclose(tensor({0.f, -1e12f, 1e12f, 0.f, -4.f})));
  // With a saturated sigmoid the gradients are zero, not NaN.
  const Tensor logits = tensor({200.f, -200.f}).requires_grad_();
  binary_cross_entropy(logits.sigmoid(), tensor({1.f, 0.f})).backward();
  CHECK(logits.grad().equal(zeros({2})));
}

TEST_CASE("binary cross-entropy refuses what is no probability", "[nn][loss]") {
  for (const float bad : {-0.1f, 1.5f, std::nanf("")})
    CHECK_THROWS_WITH(binary_cross_entropy(tensor({0.5f, bad}), zeros({2})),
                      Contains("binary_cross_entropy") && Contains("should be between 0 and 1"));
  CHECK(std::isnan(binary_cross_entropy(zeros({0}), zeros({0})).item<float>()));
}

TEST_CASE("binary cross-entropy's gradients are right, those of the target included", "[nn][loss]") {
  manual_seed(8);
  const Tensor x = (rand({6}, kFloat64) * 0.8 + 0.1).requires_grad_(), t = rand({6}, kFloat64).requires_grad_();
  const auto loss = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{binary_cross_entropy(in[0], in[1], {}, kSum)};
  };
  CHECK(autograd::gradcheck(loss, {x, t}));
  CHECK(autograd::gradgradcheck(loss, {x, t}));
}

TEST_CASE("with logits the loss is that of the sigmoid, and weights multiply as they should", "[nn][loss]") {
  const Tensor x = tensor({-3.0, -0.5, 0.0, 2.0}, kFloat64), t = tensor({0.0, 1.0, 0.25, 1.0}, kFloat64);
  const Tensor w = tensor({1.0, 2.0, 3.0, 4.0}, kFloat64), positive = full({4}, 3.0, kFloat64);
  CHECK(binary_cross_entropy_with_logits(x, t, w).allclose(binary_cross_entropy(x.sigmoid(), t, w)));
  const Tensor p = x.sigmoid();
  const Tensor expected = (t * p.log() * 3 + (1 - t) * (1 - p).log()).neg();
  CHECK(binary_cross_entropy_with_logits(x, t, {}, positive, kNone).allclose(expected));
  CHECK(binary_cross_entropy_with_logits(tensor({1000.f}), tensor({1.f})).item<float>() == 0);  // does not overflow
}

TEST_CASE("with logits the gradient is sigmoid minus target, at zero and far from it", "[nn][loss]") {
  const Tensor x = tensor({0.0, 0.0, -40.0, 40.0}, kFloat64).requires_grad_(),
               t = tensor({0.0, 1.0, 0.0, 1.0}, kFloat64);
  binary_cross_entropy_with_logits(x, t, {}, {}, kSum).backward();
  const double far = 1 / (1 + std::exp(40.0));  // computing 1 - sigmoid(40) would cancel to 0
  CHECK(x.grad().allclose(tensor({0.5, -0.5, far, -far}, kFloat64), 1e-7, 1e-16));
  const Tensor w = tensor({2.0, 3.0, 0.5, 1.0}, kFloat64).requires_grad_(), soft = full({4}, 0.3, kFloat64);
  const auto loss = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{binary_cross_entropy_with_logits(in[0], in[1], {}, in[2], kSum)};
  };
  const Tensor near = tensor({0.0, 0.0, -2.0, 3.0}, kFloat64).requires_grad_();
  CHECK(autograd::gradcheck(loss, {near, soft.clone().requires_grad_(), w}));
  CHECK(autograd::gradgradcheck(loss, {near, soft.clone().requires_grad_(), w}));
}

TEST_CASE("losses of differences take bools as targets, but where PyTorch does not", "[loss]") {
  const Tensor x = tensor({0.25, 1.0}), target = tensor({true, false});
  CHECK(mse_loss(x, target).item<double>() == Approx((0.5625 + 1) / 2));
  CHECK(smooth_l1_loss(x, target).item<double>() == Approx((0.28125 + 0.5) / 2));
  CHECK_THROWS_WITH(l1_loss(x, target),
                    Catch::StartsWith("l1_loss: x is float32 and target is bool; accepted: numbers"));
}

TEST_CASE("the weight of a binary cross-entropy leaves the losses their dtype", "[loss]") {
  const Tensor x = tensor({0.25f, 0.75f}), target = tensor({0.f, 1.f}), weight = tensor({1.0, 2.0}, kFloat64);
  CHECK(binary_cross_entropy(x, target, weight).dtype() == kFloat32);
  CHECK(binary_cross_entropy_with_logits(x, target, weight).dtype() == kFloat32);
}

TEST_CASE("class indices may be uint8", "[loss]") {
  const Tensor x = tensor({{1.0, 2.0, 0.5}, {0.0, 1.0, 3.0}}), target = tensor({2, 1}), bytes = target.to(kUInt8);
  CHECK(cross_entropy(x, bytes).equal(cross_entropy(x, target)));
  CHECK(cross_entropy(x, bytes, {}, kSum, 1, 0.25).equal(cross_entropy(x, target, {}, kSum, 1, 0.25)));
  CHECK(nll_loss(x, bytes).equal(nll_loss(x, target)));
  CHECK_THROWS_WITH(nll_loss(x, target.to(kInt32)),
                    Contains("nll_loss: expected target dtype to be Long or Byte, but got int32") && Contains("uint8"));
}

TEST_CASE("gaussian_nll_loss refuses variances that are negative, or of sizes that do not fit", "[loss]") {
  const Tensor x = zeros({4, 3}), target = ones({4, 3});
  // Each element gives ln(2) / 2 + 1 / 4, for every shape of the variances.
  for (const Tensor& var : {full({4, 3}, 2.0), full({4}, 2.0), full({4, 1}, 2.0), full({1, 3}, 2.0)})
    CHECK(gaussian_nll_loss(x, target, var).item<double>() == Approx(std::log(2.0) / 2 + 0.25));
  CHECK_THROWS_WITH(
      gaussian_nll_loss(x, target, full({3}, 2.0)),
      Contains("gaussian_nll_loss: var is of incorrect size: var is (3,) and x (4, 3); accepted for var: "));
  CHECK_THROWS_WITH(gaussian_nll_loss(x, target, full({1, 1}, 2.0)), Contains("var is (1, 1)"));
  CHECK_THROWS_WITH(gaussian_nll_loss(x, target, tensor({1.f, 0.f, -1.f, 2.f})),
                    Contains("gaussian_nll_loss: var has negative entry/entries"));
  CHECK_THROWS_WITH(gaussian_nll_loss(x.to(kInt64), target, full({4}, 2.0)), Contains("gaussian_nll_loss"));
}

TEST_CASE("smooth_l1_loss has a slope of one at infinity", "[loss]") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({inf, -inf, 0.5, 3.0}, kFloat64).requires_grad_();
  smooth_l1_loss(x, zeros({4}, kFloat64), kSum).backward();
  CHECK(x.grad().equal(tensor({1.0, -1.0, 0.5, 1.0}, kFloat64)));
}
