// Tests Graphs of steps whose computation depends on tensor values. A capture records every branch, and a replay takes
// the branch for its current values.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/core/loop/graph.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {
/// Returns the CPU, and a GPU if there is one.
std::vector<Device> recording_devices() {
  std::vector<Device> out = {kCPU};
  if (cuda::is_available()) out.emplace_back(kCUDA, 0);
  return out;
}
}  // namespace

TEST_CASE("a record computes the gradient of prod beside zeros and without, whatever it saw first", "[graph]") {
  const Device device = GENERATE(from_range(recording_devices()));
  const Tensor x = tensor({2.0, 3.0, 5.0, 7.0, 0.5}, TensorOptions(kFloat64).device(device)).requires_grad_();
  const auto step = [&] {
    x.zero_grad(/*set_to_none=*/false);
    x.prod().backward();
  };
  x.mutable_grad() = zeros_like(x.detach());
  Graph graph;
  graph.capture(step);
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> cases = {
      {{2, 3, 5, 7, 0.5}, {52.5, 35, 21, 15, 210}},
      {{2, 3, 0, 7, 0.5}, {0, 0, 21, 0, 0}},
      {{0, 3, 0, 7, 0.5}, {0, 0, 0, 0, 0}},
      {{1, 2, 3, 4, 5}, {120, 60, 40, 30, 24}},
  };
  for (const auto& [values, gradient] : cases) {
    x.detach().copy_(tensor(values, kFloat64));
    graph.replay();
    CHECK(x.grad().cpu().allclose(tensor(gradient, kFloat64), 1e-14));
    step();
    CHECK(x.grad().cpu().allclose(tensor(gradient, kFloat64), 1e-14));
  }
}

TEST_CASE("a record goes on with the mean of all batches' statistics", "[graph]") {
  const Device device = GENERATE(from_range(recording_devices()));
  const auto options = nn::BatchNorm1dOptions(3).momentum(std::nullopt);
  nn::BatchNorm1d eager(options), recorded(options);
  eager->to(device), recorded->to(device);
  const Tensor x = zeros({8, 3}, device);
  Graph graph;
  graph.capture([&] { recorded(x); });
  Tensor means = zeros({3}, kFloat64), variances = zeros({3}, kFloat64);
  for (int64_t i = 1; i <= 4; ++i) {
    x.copy_(randn({8, 3}));
    eager(x);
    graph.replay();
    means.add_(x.cpu().to(kFloat64).mean({0})), variances.add_(x.cpu().to(kFloat64).var({0}));
    CHECK(recorded->num_batches_tracked.item<int64_t>() == i);
    CHECK(recorded->running_mean.equal(eager->running_mean));
    CHECK(recorded->running_var.equal(eager->running_var));
    const auto count = static_cast<double>(i);
    CHECK(eager->running_mean.cpu().to(kFloat64).allclose(means / count, 1e-5, 1e-6));
    CHECK(eager->running_var.cpu().to(kFloat64).allclose(variances / count, 1e-5, 1e-6));
  }
}
