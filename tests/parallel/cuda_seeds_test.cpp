// Runs training steps on emulated GPUs while their streams are scheduled in a thousand random orders. A result that
// depends on an order without an event to enforce it differs between orders. Emulated builds only.
#include <atomic>

#include "tandem/emulation/emulation.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/parallel/ranks.h"

using namespace tandem;
using namespace tandem::distributed;

namespace {

constexpr uint64_t kSeeds = test::kSlowGpus ? 30 : 1000;

struct SmallNetImpl : nn::Cloneable<SmallNetImpl> {
  SmallNetImpl() { reset(); }
  void reset() override {
    one = register_module("one", nn::Linear(4, 5));
    norm = register_module("norm", nn::BatchNorm1d(5));
    two = register_module("two", nn::Linear(5, 3));
  }
  Tensor forward(const Tensor& x) { return two(relu(norm(one(x)))); }
  nn::Linear one{nullptr}, two{nullptr};
  nn::BatchNorm1d norm{nullptr};
};
TANDEM_MODULE(SmallNet);

constexpr int kRanks = 2, kSteps = 2, kRows = 4;
using State = std::vector<Tensor>;
State state_of(const nn::Module& module) {
  State out;
  for (const auto& item : module.state_dict()) out.push_back(item.value().detach().to(kCPU).clone());
  return out;
}
bool equal(const State& a, const State& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.equal(y); });
}
template <class Backward> State train(SmallNet& net, const Backward& backward) {
  optim::SGD optimizer(net->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    backward(step);
    optimizer.step();
  }
  return state_of(*net);
}
/// Input rows of one rank in one step
Tensor rows(int step, int rank) {
  manual_seed(static_cast<uint64_t>(10 + 2 * step + rank));
  return rand({kRows, 4});
}
Tensor targets(int rank) { return tensor({rank, 1, 2, 0}, kInt64); }

State with_ddp(const ProcessGroupPtr& group) {
  const Device device(kCUDA, group->rank());
  manual_seed(3);
  SmallNet net;
  net->to(device);
  nn::parallel::DistributedDataParallelOptions options;
  options.process_group(group).bucket_cap_mb(1e-4);  // a bucket for nearly every parameter
  nn::parallel::DistributedDataParallel ddp(net, options);
  return train(net, [&](int step) {
    cross_entropy(ddp(rows(step, group->rank())), targets(group->rank()).to(device)).backward();
  });
}
State with_dp(const std::vector<Device>& devices) {
  manual_seed(3);
  SmallNet net;
  net->to(devices[0]);
  nn::parallel::DataParallel dp(net, devices);
  return train(net, [&](int step) {
    const Tensor y = cat({targets(0), targets(1)}).to(devices[0]);
    cross_entropy(dp(cat({rows(step, 0), rows(step, 1)})), y).backward();
  });
}

struct Reset {
  ~Reset() { emulation::reset_runtime(); }
};

}  // namespace

TEST_CASE("a DDP step gives the same bits in a thousand orders of the streams", "[parallel][cuda][seeds]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  const Reset reset;
  // Gloo's collectives run in host memory, so streams have fewer orders, and each run takes ten times as long.
  const uint64_t seeds = backend == "gloo" ? kSeeds / 10 : kSeeds;
  std::atomic<uint64_t> wrong{0};
  State expected;
  test::run_with_backend(backend, kRanks, [&](const ProcessGroupPtr& group) {
    for (uint64_t seed = 0; seed <= seeds; ++seed) {
      group->barrier()->wait();
      if (group->rank() == 0) emulation::set_stream_seed(seed);
      group->barrier()->wait();
      const State found = with_ddp(group);
      if (group->rank() != 0) continue;
      if (seed == 0) expected = found;
      if (!equal(found, expected) && wrong == 0) wrong = seed;
    }
  });
  INFO(backend << ", the first seed that differs: " << wrong.load());
  CHECK(wrong == 0);
  // Bit for bit, because the numbers of shards, rows and ranks are powers of two.
  CHECK(equal(expected, with_dp({"cuda:0", "cuda:1"})));
}

TEST_CASE("a DataParallel step gives the same bits in a thousand orders of the streams", "[parallel][cuda][seeds]") {
  const Reset reset;
  State expected;
  uint64_t wrong = 0;
  for (uint64_t seed = 0; seed <= kSeeds && wrong == 0; ++seed) {
    emulation::set_stream_seed(seed);
    const State found = with_dp({"cuda:0", "cuda:1"});
    if (seed == 0) expected = found;
    if (!equal(found, expected)) wrong = seed;
  }
  INFO("the first seed that differs: " << wrong);
  CHECK(wrong == 0);
}

#if !TANDEM_TEST_TSAN  // ThreadSanitizer would report the planted race itself
TEST_CASE("a collective that is not waited for is found by the order of streams", "[parallel][cuda][seeds]") {
  const std::string backend = GENERATE(from_range(test::backends(kCUDA)));
  const Reset reset;
  std::atomic<int> found{0};
  test::run_with_backend(backend, kRanks, [&](const ProcessGroupPtr& group) {
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      group->barrier()->wait();
      if (group->rank() == 0) emulation::set_stream_seed(seed);
      group->barrier()->wait();
      const Tensor x = ones({8}, Device(kCUDA, group->rank()));
      const WorkPtr work = group->all_reduce(x);
      const Tensor early = x * 1;  // planted race: reads x before work->wait()
      work->wait();
      found += !early.cpu().equal(full({8}, 2.0f));
    }
  });
  CHECK(found > 0);
}
#endif
