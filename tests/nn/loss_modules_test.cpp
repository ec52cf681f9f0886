// Tests loss modules: that each option has its effect, against written-out formulas or functions that ops_test compares
// with PyTorch, and how the modules print.
#include <cmath>
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace F = nn::functional;

static std::string loss_text(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

TEST_CASE("modules of losses of pairs pass their options on", "[nn][loss]") {
  manual_seed(21);
  const Tensor x = randn({3, 4}, kFloat64), y = randn({3, 4}, kFloat64), signs = where(y > 0, ones_like(y), Scalar(-1));
  const Tensor classes = tensor({1, 3, 0}), weight = tensor({0.5, 1.0, 1.5, 2.0}, kFloat64);
  CHECK(nn::HuberLoss(nn::HuberLossOptions(kSum).delta(0.3))(x, y).equal(huber_loss(x, y, kSum, 0.3)));
  CHECK(nn::HuberLoss()(x, y).equal(huber_loss(x, y)));
  CHECK(nn::PoissonNLLLoss(nn::PoissonNLLLossOptions().log_input(false).full(true).eps(0.5).reduction(kNone))(
            x.exp(), y.exp() * 2)
            .equal(poisson_nll_loss(x.exp(), y.exp() * 2, false, true, 0.5, kNone)));
  CHECK(nn::GaussianNLLLoss(nn::GaussianNLLLossOptions().full(true).eps(0.5).reduction(kSum))(x, y, y.exp())
            .equal(gaussian_nll_loss(x, y, y.exp(), true, 0.5, kSum)));
  CHECK(loss_text(*nn::GaussianNLLLoss()) == "GaussianNLLLoss()");
  CHECK(nn::HingeEmbeddingLoss(nn::HingeEmbeddingLossOptions().margin(2).reduction(kSum))(x, signs).equal(
      hinge_embedding_loss(x, signs, 2, kSum)));
  CHECK(nn::MultiMarginLoss(nn::MultiMarginLossOptions().p(2).margin(0.5).weight(weight).reduction(kNone))(x, classes)
            .equal(multi_margin_loss(x, classes, 2, 0.5, weight, kNone)));
  CHECK(nn::MultiLabelMarginLoss(nn::MultiLabelMarginLossOptions(kNone))(
            x, tensor({{1, 2, -1, 0}, {3, -1, 0, 0}, {-1, 0, 1, 2}}))
            .equal(multilabel_margin_loss(x, tensor({{1, 2, -1, 0}, {3, -1, 0, 0}, {-1, 0, 1, 2}}), kNone)));
  CHECK(nn::SoftMarginLoss(nn::SoftMarginLossOptions(kSum))(x, signs).equal(soft_margin_loss(x, signs, kSum)));
  CHECK(nn::CosineEmbeddingLoss(nn::CosineEmbeddingLossOptions().margin(0.2).reduction(kSum))(x, y, tensor({1, -1, -1}))
            .equal(cosine_embedding_loss(x, y, tensor({1, -1, -1}), 0.2, kSum)));
  CHECK(nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.2).reduction(kNone))(x, y, signs)
            .equal(margin_ranking_loss(x, y, signs, 0.2, kNone)));
  CHECK(nn::TripletMarginLoss(nn::TripletMarginLossOptions().margin(3).p(1).eps(0.1).swap(true).reduction(kNone))(x, y,
                                                                                                                  signs)
            .equal(triplet_margin_loss(x, y, signs, 3, 1, 0.1, true, kNone)));
}

TEST_CASE("KLDivLoss divides by the samples with kBatchMean", "[nn][loss]") {
  const Tensor p = tensor({{0.25, 0.75}, {0.5, 0.5}, {1.0, 0.0}}, kFloat64), q = full({3, 2}, 0.5, kFloat64);
  const double sum = 0.25 * std::log(0.5) + 0.75 * std::log(1.5) + std::log(2.0);
  CHECK(nn::KLDivLoss(nn::KLDivLossOptions(kBatchMean))(q.log(), p).item<double>() == Approx(sum / 3));
  CHECK(nn::KLDivLoss(nn::KLDivLossOptions(kSum))(q.log(), p).item<double>() == Approx(sum));
  CHECK(nn::KLDivLoss()(q.log(), p).item<double>() == Approx(sum / 6));
  CHECK(F::kl_div(q.log(), p.log(), F::KLDivFuncOptions().reduction(kSum).log_target(true)).isnan().item<bool>());
  CHECK(F::kl_div(q.log(), q.log(), F::KLDivFuncOptions(kBatchMean).log_target(true)).item<double>() == 0);
  CHECK_THROWS_WITH(F::kl_div(tensor(0.0), tensor(1.0), kBatchMean), Contains("kl_div: x is a scalar"));
}

TEST_CASE("the loss of many labels is the mean of binary cross-entropies", "[nn][loss]") {
  manual_seed(22);
  const Tensor x = randn({3, 4}, kFloat64).requires_grad_(), t = (rand({3, 4}) > 0.5).to(kFloat64);
  const Tensor weight = tensor({0.5, 1.0, 1.5, 2.0}, kFloat64);
  const Tensor each =
      nn::MultiLabelSoftMarginLoss(nn::MultiLabelSoftMarginLossOptions().weight(weight).reduction(kNone))(x, t);
  CHECK(each.allclose(binary_cross_entropy_with_logits(x, t, weight, {}, kNone).mean({1})));
  CHECK(nn::MultiLabelSoftMarginLoss()(x, t).allclose(binary_cross_entropy_with_logits(x, t)));
  CHECK(autograd::gradcheck(
      [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{F::multilabel_soft_margin_loss(in[0], t)}; },
      {x}));
  CHECK_THROWS_WITH(F::multilabel_soft_margin_loss(x, t[0]), Contains("multilabel_soft_margin_loss: x is (3, 4)"));
}

TEST_CASE("a triplet's distance may be any function", "[nn][loss]") {
  const Tensor a = tensor({{0.0, 0.0}, {1.0, 1.0}}), p = tensor({{1.0, 0.0}, {1.0, 2.0}}),
               n = tensor({{3.0, 0.0}, {1.0, 3.0}});
  const auto city = [](const Tensor& u, const Tensor& v) { return (u - v).abs().sum({-1}); };
  const auto options = nn::TripletMarginWithDistanceLossOptions().distance_function(city).margin(2).reduction(kNone);
  // Distances to the positives: 1, 1. Distances to the negatives: 3, 2, or with swap: 2, 1.
  CHECK(nn::TripletMarginWithDistanceLoss(options)(a, p, n).equal(tensor({0.0, 1.0})));
  auto swapped = options;
  CHECK(nn::TripletMarginWithDistanceLoss(swapped.swap(true))(a, p, n).equal(tensor({1.0, 2.0})));
  CHECK(F::triplet_margin_with_distance_loss(a, p, n).equal(triplet_margin_loss(a, p, n)));
}

TEST_CASE("CTCLoss sums over the ways to spell a target", "[nn][loss]") {
  // Two time steps with the classes blank, 1 and 2. The paths 11, 1_ and _1 spell the target (1).
  const Tensor p = tensor({0.2, 0.5, 0.3, 0.6, 0.1, 0.3}, kFloat64).reshape({2, 1, 3});
  const double spelled = 0.5 * 0.1 + 0.5 * 0.6 + 0.2 * 0.1;
  const Tensor one = tensor({1}), two = tensor({2});
  CHECK(nn::CTCLoss()(p.log(), tensor({{1}}), two, one).item<double>() == Approx(-std::log(spelled)));
  CHECK(ctc_loss(p.log(), tensor({1, 2}), {2}, {2}).item<double>() == Approx(-std::log(0.5 * 0.3) / 2));
  CHECK(ctc_loss(p.log(), tensor({1, 2}), {2}, {2}, 0, kSum).item<double>() == Approx(-std::log(0.5 * 0.3)));
  CHECK(ctc_loss(p.log(), tensor({0, 2}), {2}, {2}, 1, kSum).item<double>() == Approx(-std::log(0.2 * 0.3)));
  // Two equal labels need a blank between them, but there are only two time steps.
  CHECK(std::isinf(ctc_loss(p.log(), tensor({1, 1}), {2}, {2}).item<double>()));
  const Tensor x = p.log().requires_grad_();
  const Tensor none = nn::CTCLoss(nn::CTCLossOptions().zero_infinity(true))(x, tensor({{1, 1}}), two, two);
  none.backward();
  CHECK(none.item<double>() == 0);
  CHECK(x.grad().equal(zeros({2, 1, 3}, kFloat64)));
  // the empty target has probability 1
  CHECK(ctc_loss(p.log(), tensor({{1}}), {0}, {0}, 0, kNone).equal(zeros({1}, kFloat64)));
}

TEST_CASE("CTC names lengths and targets that do not fit", "[nn][loss]") {
  const Tensor x = zeros({4, 2, 3});
  CHECK_THROWS_WITH(ctc_loss(x, tensor({{1}, {2}}), {4, 5}, {1, 1}),
                    Contains("Expected input_lengths to have value at most 4, but got value 5"));
  CHECK_THROWS_WITH(ctc_loss(x.narrow(0, 0, 0), tensor({{1}, {2}}), {0, 0}, {0, 0}),
                    Contains("log_probs tensor must not be empty"));
  CHECK_THROWS_WITH(
      ctc_loss(x, tensor({{1}, {2}}), {4, 4}, {1, 2}),
      Contains("Expected tensor to have size at least 2 at dimension 1, but got size 1 for argument #2 'targets'"));
  CHECK_THROWS_WITH(
      ctc_loss(x, tensor({1, 2, 1}), {4, 4}, {1, 1}),
      Contains("Expected tensor to have size 2 at dimension 0, but got size 3 for argument #2 'targets'"));
  CHECK_THROWS_WITH(ctc_loss(x, tensor({{1}, {3}}), {4, 4}, {1, 1}), Contains("a target is 3") && Contains("0 to 2"));
  CHECK_THROWS_WITH(ctc_loss(x, tensor({{1}, {0}}), {4, 4}, {1, 1}), Contains("a target is 0"));
  CHECK_THROWS_WITH(ctc_loss(x, tensor({{1.0}}), {4, 4}, {1, 1}), Contains("targets is float32"));
  CHECK_THROWS_WITH(ctc_loss(x, tensor({{1}, {2}}), {4, 4}, {1, 1}, 3),
                    Contains("blank must be in label range, 0 to 2, but is 3"));
}

TEST_CASE("losses with margins refuse what has no meaning", "[nn][loss]") {
  const Tensor x = zeros({2, 3});
  CHECK_THROWS_WITH(huber_loss(x, x, kMean, 0), Contains("huber_loss does not support non-positive values for delta."));
  CHECK_THROWS_WITH(multi_margin_loss(x, tensor({0, 1}), 3),
                    Contains("multi_margin_loss: only p == 1 and p == 2 supported"));
  CHECK_THROWS_WITH(multi_margin_loss(x, tensor({0})),
                    Contains("target tensor should be 1-D with size equal to the number of input samples") &&
                        Contains("but got (1,)"));
  CHECK_THROWS_WITH(multilabel_margin_loss(x, tensor({0, 1, 2})),
                    Contains("inconsistent target size: (3,) for input of size: "));
  CHECK_THROWS_WITH(cosine_embedding_loss(x, x, x),
                    Contains("0D or 1D target tensor expected, multi-target not supported"));
  CHECK_THROWS_WITH(cross_entropy(x, x, {}, kMean, 1),
                    Contains("ignore_index is not supported for floating point target"));
  CHECK_THROWS_WITH(cross_entropy(x, x, {}, kMean, -100, 1.5),
                    Contains("label_smoothing must be between 0.0 and 1.0. Got: 1.5"));
}

TEST_CASE("losses print without their options", "[nn][loss]") {
  CHECK(loss_text(*nn::HuberLoss()) == "HuberLoss()");
  CHECK(loss_text(*nn::TripletMarginLoss()) == "TripletMarginLoss()");
  CHECK(loss_text(*nn::CTCLoss()) == "CTCLoss()");
  CHECK(loss_text(*nn::CrossEntropyLoss()) == "CrossEntropyLoss()");
}

}  // namespace tandem
