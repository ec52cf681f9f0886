// Tests losses that are computed inside the replicas. equality_test.cpp checks their gradients bit for bit.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"

using namespace tandem;
using namespace tandem::nn::parallel;
using test::count_packed_bytes;

TEST_CASE("loss() takes loss modules and functions", "[parallel][dp][loss]") {
  const test::Devices devices(3);
  nn::Linear net(3, 2);
  DataParallel dp(net, devices.list);
  const Tensor x = randn({5, 3}), target = randn({5, 2});
  // 1e-6: sums of ten terms in another order
  const auto close = [](const Tensor& a, const Tensor& b) { return a.allclose(b, 1e-6, 1e-6); };
  CHECK(close(dp.loss(nn::MSELoss(), x, target), mse_loss(net(x), target)));
  const nn::MSELoss sum(nn::MSELossOptions().reduction(kSum));
  CHECK(close(dp.loss(sum, x, target), mse_loss(net(x), target, kSum)));
  const auto by_rows = [](const Tensor& out, const Tensor& t) {
    return LossPart{(out - t).abs().sum(), full({}, out.size(0), out.options())};
  };
  CHECK(close(dp.loss(by_rows, x, target), (net(x) - target).abs().sum() / 5));
  CHECK_THROWS_WITH(dp.loss(nn::MSELoss(nn::MSELossOptions().reduction(kNone)), x, target),
                    Contains("Reduction::none"));
  CHECK_THROWS_WITH(dp.loss(nn::KLDivLoss(kNone), x, target), Contains("Reduction::none"));
  const auto wrong = [](const Tensor& out, const Tensor&) { return LossPart{out, Tensor()}; };
  CHECK_THROWS_WITH(dp.loss(wrong, x, target), Contains("a sum of (2, 2)"));
}

TEST_CASE("loss() of every loss module of two inputs is the module's loss of the whole batch", "[parallel][dp][loss]") {
  const test::Devices devices(3);
  manual_seed(3);
  nn::Linear net(3, 4);
  DataParallel dp(net, devices.list);
  const Tensor x = randn({7, 3}), zeros_and_ones = randint(0, 2, {7, 4}, kFloat32), numbers = rand({7, 4});
  const Tensor classes = randint(0, 4, {7}), signs = zeros_and_ones * 2 - 1;
  const Tensor labels = tensor({{0, 2, -1, 1}, {3, -1, 0, 0}}).repeat({4, 1}).narrow(0, 0, 7);
  const auto check = [&](const auto& loss, const Tensor& target) {
    INFO(loss);
    const Tensor whole = loss->forward(net(x), target), parts = dp.loss(loss, x, target);
    CHECK(parts.allclose(whole, 1e-6, 1e-6));  // sums of up to 28 terms in another order
  };
  check(nn::L1Loss(), numbers);
  check(nn::MSELoss(), numbers);
  check(nn::SmoothL1Loss(), numbers);
  check(nn::HuberLoss(), numbers);
  check(nn::BCEWithLogitsLoss(), numbers);
  check(nn::KLDivLoss(), numbers);
  check(nn::KLDivLoss(kBatchMean), numbers);
  check(nn::KLDivLoss(nn::KLDivLossOptions(kSum).log_target(true)), numbers);
  check(nn::PoissonNLLLoss(), numbers);
  check(nn::SoftMarginLoss(), signs);
  check(nn::HingeEmbeddingLoss(), signs);
  check(nn::CrossEntropyLoss(), classes);
  check(nn::NLLLoss(), classes);
  check(nn::MultiMarginLoss(), classes);
  check(nn::MultiLabelMarginLoss(), labels);
  check(nn::MultiLabelSoftMarginLoss(), zeros_and_ones);
}

TEST_CASE("losses of half types are added up in float32", "[parallel][dp][loss]") {
  const test::Devices devices(2);
  nn::Sequential same{nn::Flatten()};
  DataParallel dp(same, devices.list);
  // A sum of 140,000 ones overflows float16, and stays at 256 in bfloat16.
  for (const DType dtype : {kFloat16, kBFloat16}) {
    const Tensor loss = dp.loss(nn::MSELoss(), ones({70000, 2}, dtype), zeros({70000, 2}, dtype));
    CHECK(loss.dtype() == kFloat32);
    CHECK(loss.item<float>() == 1);
  }
}

TEST_CASE("loss() moves targets and two numbers in place of the outputs", "[parallel][replicas][bytes]") {
  const test::Devices devices(2);
  nn::Linear net(10, 10);
  DataParallel dp(net, devices.list);
  const Tensor x = randn({6, 10}), target = randint(0, 10, {6});
  const int64_t parameters = count_packed_bytes(net->parameters());
  // Half of the inputs go to the second device, together with the parameters. The shard's loss sum and weight come
  // back, the gradient of the sum goes to the second device, and the gradients come back. Each scalar is padded to 64
  // elements.
  const int64_t before = bytes_moved();
  dp.loss(nn::CrossEntropyLoss(), x, target).backward();
  CHECK(bytes_moved() - before == (x.nbytes() + target.nbytes()) / 2 + 3 * 64 * 4 + 2 * parameters);
}
