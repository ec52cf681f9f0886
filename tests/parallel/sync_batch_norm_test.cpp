// Tests SyncBatchNorm, with the batch split over the ranks, against batch norm of the whole batch.
#include <atomic>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;

namespace {

constexpr int64_t kRows[] = {4, 0, 3};  // number of rows of each rank
int64_t first_row(int rank) { return rank > 0 ? first_row(rank - 1) + kRows[rank - 1] : 0; }
Tensor part(const Tensor& whole, int rank) { return whole.narrow(0, first_row(rank), kRows[rank]); }
/// 1e-12: sums of about 30 float64 values in another order
int64_t is_far(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.cpu().allclose(b.cpu(), /*rtol=*/1e-12, /*atol=*/1e-12) ? 0 : 1;
}

/// Runs three steps of `sync` on the ranks' rows, and of a BatchNorm2d on the whole batch. Returns the number of
/// differences.
int64_t compare(nn::BatchNorm2d reference, const std::function<Tensor(const Tensor&)>& sync, nn::Module& module,
                MemoryFormat format, const distributed::ProcessGroupPtr& group) {
  const int rank = group->rank();
  const Device device = group->device();  // the reference is computed on the CPU
  reference->to(kFloat64);
  module.to(device, kFloat64);
  const auto ours = module.named_parameters(), theirs = reference->named_parameters();
  int64_t wrong = ours.size() == theirs.size() ? 0 : 1;
  manual_seed(5);
  for (int step = 0; step < 3; ++step) {
    // The mean is far from 0, where variance as mean of squares minus squared mean would lose digits.
    const Tensor whole = (randn({7, 3, 2, 2}, kFloat64) * 3 + 100).requires_grad_();
    const Tensor up = randn({7, 3, 2, 2}, kFloat64);
    const Tensor x = part(whole.detach(), rank).contiguous(format).to(device).requires_grad_();
    const Tensor y = sync(x), z = reference(whole);
    wrong += is_far(y, part(z, rank));
    (y * part(up, rank).to(device)).sum().backward();
    (z * up).sum().backward();
    wrong += is_far(x.grad(), part(whole.grad(), rank));
    for (size_t i = 0; i < ours.size(); ++i) {
      const Tensor grad = ours[i].value().grad().clone();
      group->all_reduce(grad)->wait();
      wrong += is_far(grad, theirs[i].value().grad());
      const NoGradGuard guard;
      ours[i].value().add_(grad, -0.1).grad().zero_();
      theirs[i].value().add_(theirs[i].value().grad(), -0.1).grad().zero_();
    }
  }
  const auto buffers = module.named_buffers(), expected = reference->named_buffers();
  for (size_t i = 0; i < expected.size(); ++i)
    wrong += is_far(buffers[i].value().to(kFloat64), expected[i].value().to(kFloat64));
  module.eval();
  reference->eval();
  const Tensor x = randn({2, 3, 2, 2}, kFloat64);
  return wrong + is_far(sync(x.to(device)), reference(x));
}

struct NormedNet : nn::Cloneable<NormedNet> {
  NormedNet() { reset(); }
  void reset() override {
    conv = register_module("conv", nn::Conv2d(nn::Conv2dOptions(1, 3, 3)));
    norm = register_module("norm", nn::BatchNorm2d(3));
    fc = register_module("fc", nn::Linear(3 * 4 * 4, 2));
  }
  Tensor forward(const Tensor& x) { return fc(relu(norm(conv(x))).flatten(1)); }
  nn::Conv2d conv{nullptr};
  nn::BatchNorm2d norm{nullptr};
  nn::Linear fc{nullptr};
};

}  // namespace

TEST_CASE("SyncBatchNorm is the batch norm of the whole batch", "[parallel][sync_batch_norm]") {
  const std::string backend = GENERATE(from_range(test::backends(test::fake_nccl() ? kCUDA : kCPU)));
  const auto momentum = GENERATE(std::optional<double>(0.3), std::optional<double>());
  const bool affine = GENERATE(true, false);
  const nn::BatchNormOptions options = nn::BatchNormOptions(3).momentum(momentum).affine(affine);
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 3, [&](const distributed::ProcessGroupPtr& group) {
    nn::SyncBatchNorm module(options);
    wrong += compare(
        nn::BatchNorm2d(options), [&](const Tensor& x) { return module(x); }, *module, MemoryFormat::Contiguous, group);
    const auto converted = nn::convert_sync_batchnorm(nn::BatchNorm2d(options));
    const auto copy = std::dynamic_pointer_cast<nn::BatchNorm2dImpl>(converted->clone());
    wrong += compare(
        nn::BatchNorm2d(options), [&](const Tensor& x) { return copy->forward(x); }, *copy, MemoryFormat::ChannelsLast,
        group);
  });
  CHECK(wrong == 0);
}

TEST_CASE("a converted model under DistributedDataParallel has the gradients of the whole batch",
          "[parallel][sync_batch_norm]") {
  const std::string backend = GENERATE(from_range(test::backends()));
  std::atomic<int64_t> wrong{0};
  test::run_with_backend(backend, 2, [&](const distributed::ProcessGroupPtr& group) {
    manual_seed(3);
    const auto net = std::make_shared<NormedNet>();
    net->to(kFloat64);
    const auto reference = std::dynamic_pointer_cast<NormedNet>(net->clone());
    nn::parallel::DistributedDataParallel ddp(nn::convert_sync_batchnorm(net));
    const Tensor whole = randn({8, 1, 6, 6}, kFloat64);
    ddp(whole.narrow(0, 4 * group->rank(), 4)).square().mean().backward();
    reference->forward(whole).square().mean().backward();
    const auto ours = net->named_parameters(), theirs = reference->named_parameters();
    for (size_t i = 0; i < ours.size(); ++i) wrong += is_far(ours[i].value().grad(), theirs[i].value().grad());
    wrong += is_far(net->norm->running_var, reference->norm->running_var);
  });
  CHECK(wrong == 0);
}

TEST_CASE("SyncBatchNorm without a group is BatchNorm; what it refuses", "[parallel][sync_batch_norm][errors]") {
  const Tensor x = randn({4, 3, 5});
  CHECK(nn::SyncBatchNorm(3)(x).equal(nn::BatchNorm1d(3)(x)));
  CHECK_THROWS_WITH(nn::SyncBatchNorm(3)(randn({3})),
                    Contains("SyncBatchNorm") && Contains("expected at least 2D input (got 1D input)"));
  std::string single, second;
  test::run_with_backend("local", 2, [&](const distributed::ProcessGroupPtr& group) {
    const nn::SyncBatchNorm module(3);
    const auto message = [](const std::function<void()>& f) -> std::string {
      try {
        f();
      } catch (const Error& error) {
        return error.what();
      }
      return "nothing";
    };
    const auto one = message([&] { module(randn({1 - group->rank(), 3})); });
    const Tensor y = randn({2, 3}).requires_grad_();
    const auto two = message([&] { autograd::grad({module(y).square().sum()}, {y}, {}, true, /*create_graph=*/true); });
    if (group->rank() == 0) single = one, second = two;
  });
  CHECK_THAT(single, Contains("Expected more than 1 value per channel when training"));
  CHECK_THAT(second, Contains("second derivatives over several ranks are not implemented"));
}
