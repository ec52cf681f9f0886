// Tests running Loops: alone, several in one parallel job, and through an observer.
#include "tandem/core/loop/run_loop.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/optim/adam.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

/// Adds 1 to each element in [begin, end) of the loop's only operand, an int32 array.
void count_visits(const Loop& loop, int64_t begin, int64_t end) {
  auto* const visits = reinterpret_cast<int32_t*>(loop.operands[0].buffer->data);
  for (int64_t i = begin; i < end; ++i) ++visits[i];
}

struct Visits {
  std::vector<int32_t> counts;
  Buffer buffer;
  explicit Visits(int64_t n) : counts(static_cast<size_t>(n)), buffer{reinterpret_cast<char*>(counts.data())} {}
  Loop loop(const char* name, int64_t grain) {
    Loop l{};
    l.body = count_visits, l.name = name, l.dtype = DType::int32, l.operand_count = l.write_count = 1;
    l.operands[0].buffer = &buffer, l.range = static_cast<int64_t>(counts.size()), l.grain = grain;
    return l;
  }
  bool all(int32_t n) const {
    return std::all_of(counts.begin(), counts.end(), [&](int32_t count) { return count == n; });
  }
};

/// An observer that records the names of loops, and runs them if `runs` is true.
struct Recorder : Observer {
  bool runs = false;
  std::vector<std::string> names;
  void on_run_loops(ArrayRef<Loop> loops) override {
    for (const Loop& loop : loops) names.push_back(loop.name);
    if (runs) pass_to_outer(loops);
  }
};
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a loop covers its range once", "[core][run_loop]") {
  for (const int64_t n : {0, 1, 10, 1000}) {
    Visits visits(n);
    run(visits.loop("count", 3));
    REQUIRE(visits.all(1));
  }
}

TEST_CASE("several loops, empty ones among them, run as one job", "[core][run_loop]") {
  Visits a(0), b(100), c(1), d(0), e(7);
  const std::vector<Loop> loops = {a.loop("a", 1), b.loop("b", 9), c.loop("c", 64), d.loop("d", 2), e.loop("e", 7)};
  run_all(loops);
  REQUIRE((b.all(1) && c.all(1) && e.all(1)));
  run_all(std::vector<Loop>());
  REQUIRE((b.all(1) && c.all(1) && e.all(1)));
}

TEST_CASE("a loop without a grain is refused by name", "[core][run_loop]") {
  Visits a(5), b(5);
  const std::vector<Loop> loops = {a.loop("good", 1), b.loop("bad", 0)};
  REQUIRE_THROWS_WITH(run_all(loops), Contains("bad") && Contains("grain is 0"));
}

TEST_CASE("an observer sees every loop and decides whether it runs", "[core][run_loop]") {
  Visits a(10), b(10);
  const std::vector<Loop> both = {a.loop("a", 2), b.loop("b", 2)};
  const auto recorder = std::make_shared<Recorder>();
  {
    const ObserverGuard guard(recorder);
    run(both[0]);
    run_all(both);
    REQUIRE((a.all(0) && b.all(0)));
    recorder->runs = true;
    run_all(both);
  }
  REQUIRE((a.all(1) && b.all(1)));
  REQUIRE(recorder->names == Names{"a", "a", "b", "a", "b"});
  run(both[0]);
  REQUIRE(a.all(2));
  REQUIRE(recorder->names.size() == 5);
  REQUIRE_THROWS_WITH(attach_observer(recorder), Contains("attached before"));
}

TEST_CASE("observers nest, and belong to the context that they were attached to and its copies", "[core][run_loop]") {
  Visits a(10);
  const Loop loop = a.loop("a", 2);
  const auto outer = std::make_shared<Recorder>(), inner = std::make_shared<Recorder>();
  outer->runs = inner->runs = true;
  const ObserverGuard first(outer);
  {
    const ObserverGuard second(inner);
    run(loop);
    inner->runs = false;
    run(loop);
    std::thread([&] { run(loop); }).join();  // this thread has a separate context
    std::thread([&, context = ThreadContext::current()] {
      const ThreadContextGuard guard(context);
      run(loop);
    }).join();
  }
  run(loop);
  CHECK(inner->names == Names{"a", "a", "a"});
  CHECK(outer->names == Names{"a", "a"});
  CHECK(a.all(3));
}

TEST_CASE("an observer sees a kernel's call, with what it reads and writes", "[core][run_loop]") {
  struct Calls : Observer {
    std::vector<std::string> seen;
    void on_kernel_call(const KernelCall& call) override {
      std::string text = call.op;
      for (const Tensor* t : call.reads) text += " " + std::to_string(t->numel());
      text += " ->";
      for (const Tensor* t : call.writes) text += " " + std::to_string(t->numel());
      seen.push_back(text);
      pass_to_outer(call);
    }
  };
  const Tensor x = ones({2, 3}).requires_grad_(), y = full({3}, 2.0);
  optim::Adam adam({x}, optim::AdamOptions(1.0));
  const auto calls = std::make_shared<Calls>();
  {
    const ObserverGuard guard(calls);
    (x * y).sum().backward();
    adam.step();
  }
  CHECK(calls->seen == Names{"mul 6 3 -> 6", "sum 6 -> 1", "fill -> 1", "mul 6 3 -> 6", "fill -> 1", "fill -> 6",
                             "fill -> 6", "store_words -> 10", "add_to_all -> 1", "adam 10 6 1 -> 6 6 6"});
  CHECK(x.equal(zeros({2, 3})));
}
