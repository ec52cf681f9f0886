// Tests AdaptiveLogSoftmaxWithLoss against PyTorch's numbers (tests/fixtures/module_cases/adaptive.py), and its errors.
#include "tandem/nn/adaptive_log_softmax.h"
#include "tandem/tests/nn/module_rows.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("AdaptiveLogSoftmaxWithLoss has PyTorch's values and gradients", "[nn][adaptive]") {
  const auto check = [](const char* name, const nn::AdaptiveLogSoftmaxWithLossOptions& options) {
    nn::AdaptiveLogSoftmaxWithLoss module(options);
    check_module(name, *module, [&](const Tensors& in) {
      const nn::ASMoutput y = module(in[0], in[1]);
      CHECK(y.loss == Approx(-y.output.mean().item<double>()));
      return Tensors{y.output, module->log_prob(in[0]), module->predict(in[0])};
    });
  };
  check("adaptive", nn::AdaptiveLogSoftmaxWithLossOptions(6, 11, {3, 7}).div_value(2).head_bias(true));
  check("adaptive/plain", nn::AdaptiveLogSoftmaxWithLossOptions(8, 5, {2}));
}

TEST_CASE("AdaptiveLogSoftmaxWithLoss takes single rows, and names what it does not take", "[nn][adaptive]") {
  nn::AdaptiveLogSoftmaxWithLoss module(nn::AdaptiveLogSoftmaxWithLossOptions(4, 6, {2, 4}).div_value(2));
  const Tensor x = randn({3, 4}), target = tensor({5, 0, 3});
  const nn::ASMoutput all = module(x, target), one = module(x[0], target[0]);
  CHECK(one.output.dim() == 0);
  CHECK(one.output.item<float>() == Approx(all.output[0].item<float>()));
  CHECK(module->log_prob(x).gather(1, target.unsqueeze(1)).squeeze(1).allclose(all.output, 1e-5, 1e-6));
  CHECK(module->log_prob(x).exp().sum(1).allclose(ones({3})));
  CHECK_THROWS_WITH(module(x, tensor({1, 6, 0})),
                    Contains("Target values should be in [0, 5], but values in range [0, 6] were found"));
  CHECK_THROWS_WITH(module(x, tensor({1, 2})),
                    Contains("Input and target should have the same size in the batch dimension") && Contains("(2,)"));
  CHECK_THROWS_WITH(nn::AdaptiveLogSoftmaxWithLoss(4, 6, std::vector<int64_t>{4, 2}),
                    Contains("cutoffs should be a sequence of unique, positive integers") && Contains("are (4, 2)"));
  CHECK_THROWS_WITH(nn::AdaptiveLogSoftmaxWithLoss(2, 6, std::vector<int64_t>{2, 4}), Contains("no feature"));
  module->reset_parameters();
}
