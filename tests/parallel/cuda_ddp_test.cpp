// Tests DistributedDataParallel on GPUs where the behaviour differs from the CPU.
#include <mutex>

#include "tandem/parallel/reducer.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using namespace tandem::distributed;
using nn::parallel::DistributedDataParallel;
using nn::parallel::DistributedDataParallelOptions;

namespace {

/// Two linear layers; forward may skip the second.
struct BranchesImpl : nn::Cloneable<BranchesImpl> {
  BranchesImpl() { reset(); }
  void reset() override {
    a = register_module("a", nn::Linear(3, 2));
    b = register_module("b", nn::Linear(3, 2));
  }
  Tensor forward(const Tensor& x, bool both) { return both ? a(x) + b(x) : a(x); }
  nn::Linear a{nullptr}, b{nullptr};
};
TANDEM_MODULE(Branches);

/// Runs f(group, device) on two ranks. Returns each rank's error, "" for none.
std::vector<std::string> errors_of(const std::string& backend,
                                   const std::function<void(const ProcessGroupPtr&, Device)>& f) {
  std::vector<std::string> errors(2);
  test::run_with_backend(backend, 2, [&](const ProcessGroupPtr& group) {
    try {
      f(group, test::device_for_rank(group->rank()));
    } catch (const std::exception& error) {
      errors[static_cast<size_t>(group->rank())] = error.what();
    }
  });
  return errors;
}

}  // namespace

TEST_CASE("DDP on GPUs names a parameter without a gradient one step late, on every rank", "[parallel][cuda][ddp]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (!test::can_run(backend, 2)) return;
  std::vector<int> steps(2);
  const auto errors = errors_of(backend, [&](const ProcessGroupPtr& group, Device device) {
    Branches net;
    net->to(device);
    DistributedDataParallel ddp(net, DistributedDataParallelOptions().process_group(group).bucket_cap_mb(1e-5));
    for (int step = 0; step < 5; ++step) {
      ddp(ones({4, 3}), step != 2 || group->rank() == 0).sum().backward();
      ++steps[static_cast<size_t>(group->rank())];
    }
  });
  CHECK(steps == std::vector<int>{3, 3});  // both ranks ran three steps; the third has the mistake
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("b.weight on rank 1; b.bias on rank 1") && Contains("in the previous backward"));
}

TEST_CASE("DDP on GPUs with find_unused_parameters averages what some ranks use", "[parallel][cuda][ddp]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  const bool view = GENERATE(true, false);
  if (!test::can_run(backend, 2)) return;
  const auto errors = errors_of(backend, [&](const ProcessGroupPtr& group, Device device) {
    Branches net;
    net->to(device);
    DistributedDataParallel ddp(
        net, DistributedDataParallelOptions().process_group(group).find_unused_parameters(true).gradient_as_bucket_view(
                 view));
    for (int step = 0; step < 2; ++step) {
      net->zero_grad();
      ddp(ones({4, 3}), group->rank() == 0).sum().backward();
      TANDEM_CHECK(net->a->weight.grad().cpu().equal(full({2, 3}, 4.f)), "a: ", net->a->weight.grad());
      TANDEM_CHECK(net->b->weight.grad().cpu().equal(full({2, 3}, 2.f)), "b: ", net->b->weight.grad());
    }
    TANDEM_CHECK(ddp.reducer().last_reduce_times().communication_seconds >= 0, "no time");
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("weighted DDP, a compressing hook and Join on GPUs", "[parallel][cuda][ddp]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  const bool view = GENERATE(true, false);
  const DType dtype = GENERATE(kFloat32, kBFloat16);
  const int hook = GENERATE(0, 1, 2);
  if (!test::can_run(backend, 2) || (test::kSlowGpus && view)) return;
  const auto errors = errors_of(backend, [&](const ProcessGroupPtr& group, Device device) {
    nn::Linear net(nn::LinearOptions(1, 1).bias(false));
    net->to(device, dtype);
    DistributedDataParallel ddp(
        net,
        DistributedDataParallelOptions().process_group(group).weighted_average(true).gradient_as_bucket_view(view));
    if (hook == 1) ddp.register_comm_hook(nn::parallel::fp16_compress_hook);
    if (hook == 2) ddp.register_comm_hook(nn::parallel::bf16_compress_hook);
    const int rank = group->rank();
    nn::parallel::Join join({&ddp});
    for (int step = 0; step < (rank == 0 ? 2 : 3); ++step) {
      net->zero_grad();
      // Rank 0 has one row of 8 in each step. Rank 1 has three rows of 4, none in the second step, and in the third
      // step it is the only one that counts.
      const int64_t rows = rank == 0 ? 1 : step == 1 ? 0 : 3;
      ddp(full({rows, 1}, rank == 0 ? 8.f : 4.f).to(dtype)).mean().backward();
      const double expected = step == 0 ? (8 + 3 * 4) / 4. : step == 1 ? 8 : 4;  // all values are exact in 8 bits
      TANDEM_CHECK(net->weight.grad().item<double>() == expected, "step ", step, ": ", net->weight.grad());
    }
    join.finish();
  });
  CHECK(errors == std::vector<std::string>(2));
}

TEST_CASE("static_graph on GPUs: parameters may go unused, and a change is found one step late",
          "[parallel][cuda][ddp]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (!test::can_run(backend, 2)) return;
  const auto errors = errors_of(backend, [&](const ProcessGroupPtr& group, Device device) {
    Branches net;
    net->to(device);
    DistributedDataParallel ddp(
        net, DistributedDataParallelOptions().process_group(group).static_graph(true).bucket_cap_mb(1e-5));
    for (int step = 0; step < 5; ++step) {
      net->zero_grad();
      ddp(ones({4, 3}), group->rank() == 0 && step < 3).sum().backward();
      if (step < 3) TANDEM_CHECK(net->b->weight.grad().cpu().equal(full({2, 3}, 2.f)), "b: ", net->b->weight.grad());
    }
  });
  for (const std::string& error : errors)
    CHECK_THAT(
        error,
        Contains("these parameters got fewer or more gradients in the previous backward than in the first backward: "
                 "b.weight on rank 0; b.bias on rank 0"));
}

TEST_CASE("DDP on GPUs refuses ranks whose models differ, and a group for another GPU", "[parallel][cuda][ddp]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  if (!test::can_run(backend, 2)) return;
  const auto errors = errors_of(backend, [](const ProcessGroupPtr& group, Device device) {
    nn::Sequential net(nn::Linear(3, 2), nn::Linear(2, group->rank() + 1));
    net->to(device);
    DistributedDataParallel ddp(net, DistributedDataParallelOptions().process_group(group));
  });
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("Rank 0 has parameter 1.weight float32 (1, 2), while rank 1 has parameter 1.weight "));
  if (backend != "nccl") return;
  nn::Linear nets[] = {nn::Linear(3, 2), nn::Linear(3, 2)};
  // Moved before the ranks start: moving waits for the other GPU, whose rank may already wait in a collective for this
  // rank.
  for (int rank = 0; rank < 2; ++rank) nets[rank]->to(Device(kCUDA, 1 - rank));
  const auto elsewhere = errors_of(backend, [&](const ProcessGroupPtr& group, Device) {
    DistributedDataParallel ddp(nets[group->rank()], DistributedDataParallelOptions().process_group(group));
  });
  for (const std::string& error : elsewhere) CHECK_THAT(error, Contains("group accepts only tensors on cuda"));
}
