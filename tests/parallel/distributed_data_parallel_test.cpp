// Tests DistributedDataParallel: errors and the names in them, bucket planning, overlap of communication with backward,
// and the number of bytes sent.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

#include "tandem/models/models.h"
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/collectives/local.h"
#include "tandem/parallel/reducer.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/parallel/small_net.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using namespace tandem::distributed;
using nn::parallel::DistributedDataParallel;
using nn::parallel::DistributedDataParallelOptions;
using test::images;
using test::labels;
using test::SmallNet;

namespace {

/// Linear layers a, b and c. The argument `use` of forward names the layers to use besides a.
struct BranchesImpl : nn::Cloneable<BranchesImpl> {
  BranchesImpl() { reset(); }
  void reset() override {
    a = register_module("a", nn::Linear(3, 2));
    b = register_module("b", nn::Linear(3, 2));
    c = register_module("c", nn::Linear(3, 2));
  }
  Tensor forward(const Tensor& x, const std::string& use) {
    Tensor y = a(x);
    if (use.find('b') != std::string::npos) y = y + b(x);
    if (use.find('c') != std::string::npos) y = y + c(x);
    return y;
  }
  nn::Linear a{nullptr}, b{nullptr}, c{nullptr};
};
TANDEM_MODULE(Branches);

std::string thrown(int ranks, const std::function<void(int)>& f, std::string* all = nullptr) {
  std::mutex mutex;
  try {
    run_ranks(ranks, [&](int rank) {
      init_process_group("local", {.timeout = std::chrono::seconds(20)});
      try {
        f(rank);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        if (all) *all += std::string(error.what()) + "\n";
        throw;
      }
    });
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("DDP names a parameter without a gradient and its rank, on every rank in the same step", "[parallel][ddp]") {
  std::string all;
  const auto use = [](int rank) { return rank == 2 ? "c" : "bc"; };
  thrown(
      3,
      [&](int rank) {
        Branches net;
        DistributedDataParallel ddp(net, DistributedDataParallelOptions().bucket_cap_mb(1e-5));
        ddp(ones({4, 3}), std::string(use(rank))).sum().backward();
      },
      &all);
  size_t times = 0;
  for (size_t at = 0; (at = all.find("b.weight on rank 2; b.bias on rank 2", at)) != std::string::npos; ++at) ++times;
  INFO(all);
  CHECK(times == 3);
}

TEST_CASE("DDP with find_unused_parameters averages what some ranks use and leaves what none does", "[parallel][ddp]") {
  CHECK(thrown(3, [&](int rank) {
          Branches net;
          DistributedDataParallel ddp(net, DistributedDataParallelOptions().find_unused_parameters(true));
          for (int step = 0; step < 2; ++step) {
            net->zero_grad();
            ddp(ones({4, 3}), std::string(rank == 1 ? "b" : "")).sum().backward();
            // d/da.weight = 4 on each of three ranks; d/db.weight = 4 on one of three.
            TANDEM_CHECK(net->a->weight.grad().equal(full({2, 3}, 4.f)), "a: ", net->a->weight.grad());
            TANDEM_CHECK(net->b->weight.grad().allclose(full({2, 3}, 4.f / 3)), "b: ", net->b->weight.grad());
            TANDEM_CHECK(!net->c->weight.grad().defined(), "c: ", net->c->weight.grad());
          }
        }) == "nothing was thrown");
}

TEST_CASE("DDP refuses ranks whose models differ, and names what differs", "[parallel][ddp][errors]") {
  std::string all;
  thrown(
      2,
      [](int rank) {
        nn::Sequential net(nn::Linear(3, 2), nn::Linear(2, rank + 1));
        DistributedDataParallel ddp(net);
      },
      &all);
  CHECK_THAT(
      all,
      Contains(
          "DDP expects same model across all ranks, but Rank 0 has parameter 1.weight float32 (1, 2), while rank 1 has "
          "parameter 1.weight float32 (2, 2)"));
  CHECK_THAT(thrown(2,
                    [](int rank) {
                      nn::Sequential net(nn::Linear(3, 2));
                      if (rank == 1) net->push_back(nn::Linear(2, 2));
                      DistributedDataParallel ddp(net);
                    }),
             Contains("Rank 0 has nothing more, while rank 1 has parameter 1.weight"));
  CHECK_THROWS_WITH(DistributedDataParallel(nn::Linear(2, 2)), Contains("init_process_group"));
}

TEST_CASE("DDP: a rank that throws before, in or after backward ends the job with its error",
          "[parallel][ddp][errors]") {
  const std::string where = GENERATE("before", "in", "after");
  const std::string error = thrown(3, [&](int rank) {
    models::Mlp net;
    DistributedDataParallel ddp(net);
    for (int step = 0; step < 2; ++step) {
      if (rank == 1 && where == "before" && step == 1) throw std::runtime_error("power cut");
      Tensor y = ddp(images(2, kFloat32));
      if (rank == 1 && where == "in" && step == 1)
        y.register_hook([](const Tensor&) { throw std::runtime_error("power cut"); });
      y.sum().backward();
      if (rank == 1 && where == "after" && step == 0) throw std::runtime_error("power cut");
    }
  });
  CHECK_THAT(error, Contains("rank 1") && Contains("power cut"));
}

TEST_CASE("DDP takes over gradients that are there, or that somebody has replaced", "[parallel][ddp]") {
  CHECK(thrown(2, [](int rank) {
          nn::Linear net(2, 1);
          net->weight.set_grad(full({1, 2}, 1.f + static_cast<float>(rank)));
          DistributedDataParallel ddp(net);
          ddp(ones({1, 2})).sum().backward();  // adds 1 to gradients of 1 and 2, then averages
          TANDEM_CHECK(net->weight.grad().equal(full({1, 2}, 2.5f)), net->weight.grad());
          net->weight.set_grad(full({1, 2}, 4.f * static_cast<float>(rank)));
          ddp(ones({1, 2})).sum().backward();
          TANDEM_CHECK(net->weight.grad().equal(full({1, 2}, 3.f)), net->weight.grad());
        }) == "nothing was thrown");
}

TEST_CASE("DDP: what is averaged for a parameter without a gradient is the one that it was given", "[parallel][ddp]") {
  CHECK(thrown(2, [](int rank) {
          Branches net;
          DistributedDataParallel ddp(net, DistributedDataParallelOptions().find_unused_parameters(true));
          ddp(ones({4, 3}), std::string("b")).sum().backward();  // leaves gradients of 4 in the bucket
          if (rank == 1) net->b->weight.set_grad(full({2, 3}, 8.f));
          if (rank == 0) net->b->weight.set_grad(zeros({2, 3}));
          ddp(ones({4, 3}), std::string(rank == 0 ? "b" : "")).sum().backward();
          TANDEM_CHECK(net->b->weight.grad().equal(full({2, 3}, (4 + 8) / 2.f)), "b: ", net->b->weight.grad());
        }) == "nothing was thrown");
}

TEST_CASE("DDP: a module is in one at a time", "[parallel][ddp][errors]") {
  const std::string error = thrown(2, [](int) {
    Branches net;
    { DistributedDataParallel first(net); }
    DistributedDataParallel second(net);
    DistributedDataParallel third(net->b);
  });
  CHECK_THAT(error, Contains("weight is in another DistributedDataParallel already; accepted: one at a time"));
}

namespace {
/// Adds up all tensors of its input.
struct TotalImpl : nn::Cloneable<TotalImpl> {
  TotalImpl() { reset(); }
  void reset() override { scale = register_parameter("scale", full({1}, 2.0)); }
  std::vector<Tensor> forward(const std::pair<Tensor, std::vector<Tensor>>& parts, double factor) {
    Tensor sum = parts.first;
    for (const Tensor& part : parts.second) sum = sum + part;
    return {sum * scale * factor};
  }
  Tensor scale;
};
TANDEM_MODULE(Total);
}  // namespace

TEST_CASE("DDP moves the tensors in pairs and vectors to its device, and ranks have the caller's default dtype",
          "[parallel][ddp]") {
  const test::Devices devices(3);
  set_default_dtype(kFloat64);
  const std::string thrown_by = thrown(2, [](int rank) {
    const Device home(kCPU, 1 + rank);
    Total net;
    net->to(home);
    DistributedDataParallel ddp(net);
    const Tensor one = ones({3});
    const Tensor y = ddp(std::pair(one, std::vector<Tensor>{one, one.to(home)}), 0.5)[0];
    y.sum().backward();
    TANDEM_CHECK(y.device() == home && y.dtype() == kFloat64, y.device(), " ", y.dtype());
    TANDEM_CHECK(net->scale.grad().item<double>() == 4.5, net->scale.grad());
  });
  set_default_dtype(kFloat32);
  CHECK(thrown_by == "nothing was thrown");
}

TEST_CASE("buckets are filled from the last parameter, the first one small", "[parallel][ddp]") {
  using nn::parallel::BucketItem;
  const auto plan = [](std::vector<int64_t> bytes, int64_t first, int64_t cap) {
    std::vector<BucketItem> items;
    for (const int64_t b : bytes) items.push_back({kFloat32, kCPU, b});
    return nn::parallel::plan_buckets(items, first, cap);
  };
  using Plan = std::vector<std::vector<size_t>>;
  CHECK(plan({4, 4, 4, 4}, 4, 8) == Plan{{3}, {2, 1}, {0}});
  CHECK(plan({4, 100, 4}, 8, 8) == Plan{{2}, {1}, {0}});
  CHECK(plan({4, 4, 4}, 100, 100) == Plan{{2, 1, 0}});
  CHECK(plan({}, 4, 8).empty());
  CHECK(plan({4, 4, 100, 4}, 8, 1000) == Plan{{3}, {2}, {1, 0}});  // the bucket reduced last is kept small too
  CHECK(plan({100, 4, 4}, 8, 1000) == Plan{{2, 1}, {0}});
  // The last bucket is not split off, because its gradient is large.
  CHECK(plan({100, 4, 100, 4}, 8, 1000) == Plan{{3}, {2, 1, 0}});
  const nn::parallel::BucketItem four{kFloat32, kCPU, 4};
  CHECK(nn::parallel::plan_buckets({four, four, four, four}, 4, 8, {1, 3, 2, 0}) == Plan{{1}, {3, 2}, {0}});
  CHECK(nn::parallel::plan_buckets({{kFloat32, kCPU, 4}, {kFloat64, kCPU, 8}, {kFloat32, kCPU, 4}}, 100, 100) ==
        Plan{{2, 0}, {1}});
}

namespace {

/// A local communicator whose all_reduce takes at least `delay`.
class SlowCommunicator final : public Communicator {
 public:
  SlowCommunicator(std::unique_ptr<Communicator> inner, std::chrono::milliseconds delay)
      : inner_(std::move(inner)), delay_(delay) {}
  void all_reduce(const CollectiveCall& call, Tensor& x) override {
    std::this_thread::sleep_for(delay_);
    inner_->all_reduce(call, x);
  }
  void broadcast(const CollectiveCall& call, Tensor& x) override { inner_->broadcast(call, x); }
  void reduce(const CollectiveCall& call, Tensor& x) override { inner_->reduce(call, x); }
  void all_gather(const CollectiveCall& c, std::vector<Tensor>& y, const Tensor& x) override {
    inner_->all_gather(c, y, x);
  }
  void reduce_scatter(const CollectiveCall& c, Tensor& y, const std::vector<Tensor>& x) override {
    inner_->reduce_scatter(c, y, x);
  }
  int64_t total_bytes_sent() const override { return inner_->total_bytes_sent(); }
  void send(const CollectiveCall& call, const Tensor& x, int tag) override { inner_->send(call, x, tag); }
  int recv(const CollectiveCall& call, Tensor& x, int tag) override { return inner_->recv(call, x, tag); }
  void all_to_all_v(const CollectiveCall& c, std::vector<Tensor>& y, const std::vector<Tensor>& x) override {
    inner_->all_to_all_v(c, y, x);
  }
  std::unique_ptr<Communicator> split(const std::string& name, int rank, GroupMembersPtr members,
                                      std::chrono::milliseconds timeout) override {
    return inner_->split(name, rank, std::move(members), timeout);
  }
  void barrier(const CollectiveCall& call) override { inner_->barrier(call); }
  void abort(const std::string& reason) override { inner_->abort(reason); }

 private:
  std::unique_ptr<Communicator> inner_;
  std::chrono::milliseconds delay_;
};

/// Two layers. Backward sleeps between them.
struct SlowMiddleImpl : nn::Cloneable<SlowMiddleImpl> {
  SlowMiddleImpl() { reset(); }
  void reset() override {
    first = register_module("first", nn::Linear(8, 8));
    last = register_module("last", nn::Linear(8, 8));
  }
  Tensor forward(const Tensor& x) {
    const Tensor h = first(x);
    h.register_hook([](const Tensor&) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); });
    return last(h);
  }
  nn::Linear first{nullptr}, last{nullptr};
};
TANDEM_MODULE(SlowMiddle);

}  // namespace

TEST_CASE("DDP: the first all-reduce begins before the last gradient exists, and is hidden", "[parallel][ddp]") {
  const auto timeout = std::chrono::milliseconds(20000);
  const auto hub = make_local_hub(2, timeout);
  run_ranks(2, [&](int rank) {
    const auto group = make_queued_group(
        rank, 2, "slow", timeout,
        std::make_unique<SlowCommunicator>(make_local_communicator(hub, rank), std::chrono::milliseconds(20)));
    SlowMiddle net;
    DistributedDataParallel ddp(net,
                                DistributedDataParallelOptions().process_group(group).bucket_cap_mb(300.0 / (1 << 20)));
    ddp(ones({2, 8})).sum().backward();
    const nn::parallel::ReduceTimes times = ddp.reducer().last_reduce_times();
    TANDEM_CHECK(ddp.reducer().buckets().size() == 2, ddp.reducer().buckets().size(), " buckets");
    TANDEM_CHECK(times.has_overlap, "the first all-reduce began after the last gradient");
    TANDEM_CHECK(times.communication_seconds >= 0.04, "two delays of 20 ms took ", times.communication_seconds, " s");
    TANDEM_CHECK(times.overlapped_fraction() > 0, "nothing of ", times.communication_seconds, " s was hidden");
  });
}

TEST_CASE("DDP: in evaluation every rank has the running statistics of rank 0", "[parallel][ddp]") {
  std::vector<Tensor> outputs(3);
  run_ranks(3, [&](int rank) {
    init_process_group("local");
    SmallNet net;
    DistributedDataParallel ddp(net);
    // Each rank updates its running statistics from its own batch.
    cross_entropy(ddp(images(4, kFloat32) * (rank + 1)), labels(4)).backward();
    const NoGradGuard guard;
    ddp.eval();
    outputs[static_cast<size_t>(rank)] = ddp(images(2, kFloat32));
    // This forward runs no collective, so ranks may evaluate different numbers of batches.
    ddp(images(2 + rank, kFloat32));
    if (rank == 1) ddp(images(2, kFloat32));
  });
  CHECK(outputs[1].equal(outputs[0]));
  CHECK(outputs[2].equal(outputs[0]));
}

TEST_CASE("DDP moves 2 (k - 1) times the gradients, and the buffers once to each rank", "[parallel][ddp]") {
  const int ranks = GENERATE(2, 3, 4);
  std::atomic<int64_t> bytes{0}, gradients{0}, buffers{0};
  run_ranks(ranks, [&](int rank) {
    init_process_group("local");
    SmallNet net;
    DistributedDataParallel ddp(net);
    barrier();
    const int64_t before = default_group()->bytes_sent();
    cross_entropy(ddp(images(4, kFloat32)), labels(4)).backward();
    barrier();
    bytes += default_group()->bytes_sent() - before;
    for (const Tensor& p : net->parameters())
      TANDEM_CHECK(reinterpret_cast<uintptr_t>(p.grad().raw_data()) % 16 == 0, "a gradient is not at a whole vector");
    if (rank != 0) return;
    // Buckets pad each gradient to 16 bytes.
    for (const Tensor& p : net->parameters()) gradients += (p.nbytes() + 15) / 16 * 16;
    for (const Tensor& b : net->buffers()) buffers += b.nbytes();
  });
  constexpr int64_t kAllUsed = 4;  // bytes of the element that tells whether every parameter got a gradient
  CHECK(bytes == 2 * (ranks - 1) * (gradients + kAllUsed) + (ranks - 1) * buffers);
}

TEST_CASE("an optimizer's step in a group that exchanged nothing is warned about once", "[parallel][ddp]") {
  const test::TemporaryFolder folder;
  const int saved = ::dup(STDERR_FILENO), file = ::open((folder / "err").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(file, STDERR_FILENO);
  run_ranks(2, [](int) {
    init_process_group("local");
    nn::Linear net(2, 2);
    barrier();
    optim::SGD(net->parameters(), 0.1).step();
  });
  const std::string talked = test::read_file(folder / "err");
  run_ranks(2, [](int) {
    init_process_group("local");
    nn::Linear net(2, 2);
    optim::SGD optimizer(net->parameters(), 0.1);
    for (int step = 0; step < 3; ++step) optimizer.step();
  });
  ::dup2(saved, STDERR_FILENO);
  ::close(saved), ::close(file);
  CHECK(talked.empty());
  const std::string silent = test::read_file(folder / "err"), text = "each rank trains a separate model";
  size_t times = 0;
  for (size_t at = 0; (at = silent.find(text, at)) != std::string::npos; ++at) ++times;
  CHECK(times == 2);  // once for each rank
}
