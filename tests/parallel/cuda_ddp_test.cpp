// DistributedDataParallel on GPUs: what differs from the CPU.
#include <mutex>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using namespace tandem::distributed;
using nn::parallel::DistributedDataParallel;
using nn::parallel::DistributedDataParallelOptions;

namespace {

/// Two linear layers, of which the second may be left out.
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

/// Runs f(group, device) on two ranks; returns what each threw, "" for nothing.
std::vector<std::string> errors_of(const std::string& backend,
                                   const std::function<void(const ProcessGroupPtr&, Device)>& f) {
  std::vector<std::string> errors(2);
  test::run_over(backend, 2, [&](const ProcessGroupPtr& group) {
    try {
      f(group, test::gpu_of(group->rank()));
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
  CHECK(steps == std::vector<int>{3, 3});  // 0, 1, and 2, which has the mistake
  for (const std::string& error : errors)
    CHECK_THAT(error, Contains("b.weight on rank 1; b.bias on rank 1") && Contains("in the backward before"));
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
    TANDEM_CHECK(ddp.reducer().last_times().communication >= 0, "no time");
  });
  CHECK(errors == std::vector<std::string>(2));
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
    CHECK_THAT(error, Contains("rank 0 has parameter 1.weight float32 (1, 2), but rank 1 has parameter 1.weight "));
  if (backend != "nccl") return;
  nn::Linear nets[] = {nn::Linear(3, 2), nn::Linear(3, 2)};
  // Moved before there are ranks: a copy waits for the other GPU, whose rank would wait in a collective for this one.
  for (int rank = 0; rank < 2; ++rank) nets[rank]->to(Device(kCUDA, 1 - rank));
  const auto elsewhere = errors_of(backend, [&](const ProcessGroupPtr& group, Device) {
    DistributedDataParallel ddp(nets[group->rank()], DistributedDataParallelOptions().process_group(group));
  });
  for (const std::string& error : elsewhere) CHECK_THAT(error, Contains("the device of this rank's group"));
}
