// Tests amp::GradScaler with several ranks.
#include <cmath>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/optim/from_fixture.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using amp::GradScaler;
using amp::GradScalerOptions;
using test::from_formula;

TEST_CASE("an infinity on one rank makes all ranks skip and halve the scale", "[grad_scaler][ranks]") {
  const auto train = [](int rank, const GradScalerOptions& options, bool all_skip) {
    int64_t wrong = 0;
    const Tensor w = ones({2}).requires_grad_();
    optim::SGD optimizer({w}, optim::SGDOptions(0.25));
    GradScaler scaler(options);
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      scaler.scale(w.sum()).backward();
      if (step == rank) w.mutable_grad().select(0, 0).fill_(INFINITY);  // step 3: on no rank of three
      if (step == 2 && rank == 1) w.set_grad({});                       // a rank without a gradient takes part
      scaler.step(optimizer);
      scaler.update();
    }
    wrong += w.select(0, 1).item<float>() != (all_skip ? 0.75f : rank == 1 ? 0.5f : 0.25f);
    wrong += scaler.get_scale() != (all_skip ? 8192 : 32768);
    return wrong;
  };
  SECTION("local ranks, default group") {
    std::atomic<int64_t> wrong{0};
    distributed::run_ranks(3, [&](int rank) {
      distributed::init_process_group("local");
      wrong += train(rank, {}, true);
      distributed::destroy_process_group();
    });
    CHECK(wrong == 0);
  }
  SECTION("Gloo, a given group") {
    if (!distributed::is_gloo_available()) return;
    std::atomic<int64_t> wrong{0};
    const auto errors = test::run_gloo_ranks(3, std::chrono::seconds(60), [&](const auto& group) {
      wrong += train(group->rank(), GradScalerOptions().process_group(group), true);
    });
    for (const std::string& error : errors) CHECK(error == "");
    CHECK(wrong == 0);
  }
  SECTION("null: each rank decides for itself") {
    std::atomic<int64_t> wrong{0};
    distributed::run_ranks(3, [&](int rank) {
      distributed::init_process_group("local");
      distributed::default_group()->all_reduce(ones({1}))->wait();  // otherwise the step warns that ranks are separate
      if (rank != 1) wrong += train(rank, GradScalerOptions().process_group(nullptr), false);
      distributed::destroy_process_group();
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("DistributedDataParallel with a GradScaler trains equal replicas through an infinity on one rank",
          "[grad_scaler][ranks]") {
  std::vector<Tensor> weights(2);
  std::vector<double> scales(2);
  distributed::run_ranks(2, [&](int rank) {
    distributed::init_process_group("local");
    manual_seed(1);
    nn::Linear net(3, 2);
    nn::parallel::DistributedDataParallel ddp(net);
    optim::Adam optimizer(net->parameters());
    GradScaler scaler(GradScalerOptions().init_scale(1024));
    for (int step = 0; step < 4; ++step) {
      optimizer.zero_grad();
      const Tensor x = from_formula({4, 3}, static_cast<uint32_t>(10 * step + rank), kFloat32);
      scaler.scale(ddp(x).square().sum() * (step == 2 && rank == 1 ? INFINITY : 1)).backward();
      scaler.step(optimizer);
      scaler.update();
    }
    weights[static_cast<size_t>(rank)] = net->parameters()[0].detach().clone();
    scales[static_cast<size_t>(rank)] = scaler.get_scale();
    distributed::destroy_process_group();
  });
  CHECK(weights[0].equal(weights[1]));
  CHECK(weights[0].isfinite().all().item<bool>());
  CHECK(scales == std::vector<double>{512, 512});
}
