// Autocast in the threads that work for a thread: loaders' workers, DataParallel's devices, the engine's workers.
#include <thread>

#include "tandem/data/data.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"

using namespace tandem;

namespace {
/// Its examples say whether autocast was on where they were made.
struct SeenStates : data::datasets::Dataset<SeenStates> {
  data::Example<> get(size_t) override {
    const Tensor x = ones({2, 2});
    return {x.mm(x).to(kFloat32), tensor(int64_t{autocast::is_autocast_enabled(kCPU) && x.mm(x).dtype() == kFloat16})};
  }
  std::optional<size_t> size() const override { return 6; }
};
}  // namespace

TEST_CASE("threads of a program have their own autocast, and loaders' workers that of their maker", "[autocast]") {
  const AutocastGuard guard(kCPU, kFloat16);
  bool elsewhere = true;
  std::thread([&] { elsewhere = autocast::is_autocast_enabled(kCPU); }).join();
  CHECK_FALSE(elsewhere);
  auto loader =
      data::make_data_loader(SeenStates().map(data::transforms::Stack<>()), data::DataLoaderOptions(2).workers(2));
  int batches = 0;
  for (auto& batch : *loader) {
    CHECK(batch.target.equal(ones({2}, kInt64)));
    ++batches;
  }
  CHECK(batches == 3);
}

TEST_CASE("DataParallel's replicas cast as the thread that calls it", "[autocast][parallel]") {
  const DeviceType type = GENERATE(from_range(test::device_types()));
  const test::Devices devices(2, type);
  manual_seed(5);
  nn::Sequential net(nn::Linear(6, 8), nn::ReLU(), nn::LayerNorm(nn::LayerNormOptions({8})), nn::Linear(8, 3));
  net->to(devices.list[0]);
  const Tensor x = randn({8, 6}).to(devices.list[0]), target = arange(8).remainder(3).to(devices.list[0], kInt64);
  nn::parallel::DataParallel dp(net, devices.list);
  const auto step = [&](const auto& forward) {
    net->zero_grad();
    Tensor y, loss;
    {
      const AutocastGuard guard(type, kBFloat16);
      y = forward(x);
      loss = cross_entropy(y, target);
    }
    loss.backward();
    std::vector<Tensor> out{y.detach()};
    for (const Tensor& p : net->parameters()) out.push_back(p.grad().clone());
    return out;
  };
  const std::vector<Tensor> one = step([&](const Tensor&in) { return net->forward(in); }),
                            two = step([&](const Tensor&in) { return dp(in); });
  CHECK(two[0].dtype() == kBFloat16);
  CHECK(two[0].equal(one[0]));
  for (size_t i = 1; i < one.size(); ++i) {
    CHECK(two[i].dtype() == kFloat32);
    // Each device's gradients are rounded to bfloat16 once, and then added in float32.
    CHECK(two[i].allclose(one[i], 2 * 0x1p-8, 2 * 0x1p-8 * one[i].abs().max().item<double>()));
  }
}
