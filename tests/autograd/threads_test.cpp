// Tests graphs over several devices and threads, and graphs so deep that a recursive backward would overflow the stack.
#include <atomic>
#include <filesystem>
#include <thread>

#include "tandem/core/device.h"
#include "tandem/core/thread_context.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;

namespace {
/// Sets the number of virtual CPU devices during its lifetime.
struct Devices {
  explicit Devices(int count) : before(cpu_device_count()) { set_cpu_device_count(count); }
  ~Devices() { set_cpu_device_count(before); }
  int before;
};
constexpr int kDeep = TANDEM_TEST_SANITIZED ? 20000 : 100000;  // sanitizers need larger stack frames
}  // namespace

TEST_CASE("a graph over several devices gives bit for bit the gradients of one", "[autograd][devices]") {
  const Devices devices(3);
  const auto loss_and_gradients = [](Device second, Device third) {
    manual_seed(1);
    const Tensor x = randn({8, 16}), w = randn({16, 16}).requires_grad_(), v = randn({16, 4}).requires_grad_();
    const Tensor there = matmul(x, w).to(second).tanh();
    const Tensor left = matmul(there.to(third), v.to(third)), right = matmul(there, v.to(second)).sigmoid();
    // The gradient of w is a sum over five paths. Some of them arrive from other devices at the same time.
    const Tensor loss = left.to(kCPU).square().sum() + right.to(kCPU).sum() + (w * w).sum() + there.to(kCPU).mean() +
                        left.to(second).sum().to(kCPU);
    variable_list out = autograd::grad({loss}, {w, v});
    out.push_back(loss.detach());
    return out;
  };
  const variable_list one = loss_and_gradients(kCPU, kCPU);
  for (int i = 0; i < 20; ++i) {
    const variable_list several = loss_and_gradients(Device("cpu:1"), Device("cpu:2"));
    for (size_t k = 0; k < one.size(); ++k) REQUIRE(several[k].equal(one[k]));
  }
}

TEST_CASE("the engine's workers run with the caller's grad mode and rank", "[autograd][devices]") {
  const Devices devices(2);
  for (const bool create : {true, false}) {
    ThreadContext context;
    context.rank = std::make_shared<RankState>();
    const ThreadContextGuard guard(context);
    Tensor x = ones({2}).requires_grad_(), there = (x * 2).to(Device("cpu:1")) * 3;
    std::atomic<int> calls{0};
    std::atomic<bool> mode{!create}, same_rank{false};
    std::thread::id thread = std::this_thread::get_id();
    there.register_hook([&, rank = ThreadContext::current().rank](const Tensor&) {
      mode = is_grad_enabled(), same_rank = ThreadContext::current().rank == rank, ++calls;
      thread = std::this_thread::get_id();
      return Tensor();
    });
    bool done = false;
    x.register_hook([&](const Tensor&) {
      autograd::queue_callback([&] { done = true; });
      return Tensor();
    });
    (there * there).sum().to(kCPU).backward({}, {}, create);
    CHECK(calls == 1);
    CHECK(mode == create);
    CHECK(same_rank);
    CHECK(thread != std::this_thread::get_id());
    CHECK(done);
    CHECK(x.grad().requires_grad() == create);
    x.zero_grad();  // breaks a reference cycle: under create_graph the gradient's graph holds x
  }
}

TEST_CASE("workers of several devices divide the cores of the thread that called them", "[autograd][devices]") {
  const Devices devices(3);
  const int threads = get_num_threads();
  set_num_threads(7);
  const auto share_in_backward = [](const std::vector<Device>& list) {
    int share = -1;
    Tensor x = ones({2}).requires_grad_(), y = x * 2;
    for (const Device device : list) y = y.to(device) * 2;
    y.register_hook([&](const Tensor&) { share = get_thread_share(); });
    y.sum().backward();
    return share;
  };
  CHECK(share_in_backward({kCPU}) == 0);  // runs on the calling thread, whose share is unchanged
  CHECK(share_in_backward({kCPU, "cpu:1"}) == 4);
  CHECK(share_in_backward({kCPU, "cpu:1", "cpu:2"}) == 3);
  const ThreadShareGuard guard(2);
  CHECK(share_in_backward({kCPU, "cpu:1"}) == 1);
  set_num_threads(threads);
}

TEST_CASE("the engine's workers end with their rank", "[autograd][devices]") {
  const Devices devices(2);
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto run = [](const std::shared_ptr<RankState>& rank) {
    ThreadContext context;
    context.rank = rank;
    const ThreadContextGuard guard(std::move(context));
    const Tensor x = ones({2}).requires_grad_();
    ((x * 2).to(Device("cpu:1")) * 3).sum().backward();
    REQUIRE(x.grad().equal(full({2}, 6.f)));
  };
  run(std::make_shared<RankState>());
  const auto before = threads();
  {
    std::vector<std::shared_ptr<RankState>> ranks(10);
    for (auto& rank : ranks) run(rank = std::make_shared<RankState>());
    CHECK(threads() >= before + 10);
  }
  // a worker that releases the last reference to its rank is not joined
  for (int wait = 0; wait < 1000 && threads() > before; ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(threads() <= before);
}

TEST_CASE("an error on a worker reaches the caller, and the next graph runs", "[autograd][devices]") {
  const Devices devices(2);
  Tensor x = ones({2}).requires_grad_();
  const auto loss = [&](bool fails) {
    Tensor there = (x * 2).to(Device("cpu:1")) * 3;
    if (fails) there.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("on the worker"); });
    return there.sum().to(kCPU);
  };
  CHECK_THROWS_WITH(loss(true).backward(), "on the worker");
  loss(false).backward();
  CHECK(x.grad().equal(full({2}, 6.0)));
}

TEST_CASE("gradients stay on the device of their tensor", "[autograd][devices]") {
  const Devices devices(2);
  Tensor x = ones({2}).to(Device("cpu:1")).requires_grad_();
  x.to(kCPU).sum().backward();
  CHECK(x.grad().device() == Device("cpu:1"));
  Tensor y = ones({2}).requires_grad_();
  CHECK_THROWS_WITH((y * 2).sum().backward(ones({}, Device("cpu:1"))), Contains("cpu:1"));
}

TEST_CASE("threads run graphs of their own, and may share leaves", "[autograd][threads]") {
  constexpr int kThreads = 4, kRounds = 50;
  const Tensor shared = ones({16}, kFloat64).requires_grad_();
  std::vector<double> own(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      Tensor mine = full({16}, t + 1.0, kFloat64).requires_grad_();
      for (int i = 0; i < kRounds; ++i) (mine * shared + mine.square()).sum().backward();
      own[static_cast<size_t>(t)] = mine.grad()[3].item<double>();
    });
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t) CHECK(own[static_cast<size_t>(t)] == kRounds * (1 + 2 * (t + 1.0)));
  // sums of integers are exact in any order
  CHECK(shared.grad().equal(full({16}, kRounds * (1.0 + 2 + 3 + 4), kFloat64)));
}

TEST_CASE("threads run graphs over several devices at the same time", "[autograd][threads][devices]") {
  const Devices devices(2);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&right, t] {
      for (int i = 0; i < 20; ++i) {
        Tensor x = full({8}, t + 1.0).requires_grad_();
        ((x * x).to(Device("cpu:1")) * 2).sum().to(kCPU).backward();
        right += x.grad().equal(full({8}, 4 * (t + 1.0)));
      }
    });
  for (std::thread& t : threads) t.join();
  CHECK(right == 60);
}

TEST_CASE("a graph made on one thread runs backward on another", "[autograd][threads]") {
  Tensor x = ones({4}).requires_grad_();
  const Tensor y = (x * 3).sum();
  std::thread([&] { (y * 2).backward(); }).join();
  CHECK(x.grad().equal(full({4}, 6.0)));
}

TEST_CASE("the grad mode of one thread is not that of another", "[autograd][threads]") {
  const NoGradGuard guard;
  bool enabled = false;
  std::thread([&] { enabled = is_grad_enabled(); }).join();
  CHECK(enabled);
}

TEST_CASE("100,000 operations deep: chains that save, that write in place, that fork", "[autograd][deep]") {
  const Tensor x = ones({1}, kFloat64).requires_grad_();
  SECTION("saved inputs") {
    Tensor y = x;
    for (int i = 0; i < kDeep; ++i) y = y * x;  // each node saves the output of the previous node
    y.backward();
    CHECK(x.grad().item<double>() == kDeep + 1);
  }
  SECTION("in place") {
    Tensor y = x * 1;
    for (int i = 0; i < kDeep; ++i) y.add_(x);
    y.backward();
    CHECK(x.grad().item<double>() == kDeep + 1);
  }
  SECTION("forks that meet again") {
    Tensor y = x;
    for (int i = 0; i < kDeep / 2; ++i) y = (y + y) * 0.5;
    y.backward();
    CHECK(x.grad().item<double>() == 1);
  }
  SECTION("never run, and dropped") {
    Tensor y = x;
    for (int i = 0; i < kDeep; ++i) y = (y * x).view({1});
    CHECK(y.requires_grad());
  }
  SECTION("only a part of it") {
    Tensor y = x * 1, middle;
    for (int i = 0; i < kDeep; ++i) {
      y = y + x;
      if (i == kDeep / 2) middle = y;
    }
    CHECK(autograd::grad({y}, {middle})[0].item<double>() == 1);
  }
  SECTION("the graph of a gradient") {
    Tensor y = x;
    for (int i = 0; i < kDeep / 10; ++i) y = y * x;
    const Tensor first = autograd::grad({y}, {x}, {}, {}, true)[0];
    CHECK(first.item<double>() == kDeep / 10 + 1);
    CHECK(autograd::grad({first}, {x})[0].item<double>() == (kDeep / 10 + 1.0) * (kDeep / 10));
  }
}

TEST_CASE("a generator that a guard names is the workers' too", "[autograd][threads]") {
  Generator generator(7);
  const GeneratorGuard guard(generator);
  Generator* found = nullptr;
  std::thread([&found, context = ThreadContext::current()]() mutable {
    const ThreadContextGuard inherited(std::move(context));
    found = &default_generator();
  }).join();
  CHECK(found == &generator);
}
