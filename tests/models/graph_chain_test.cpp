// Tests captured elementwise ops, which a replay runs tile by tile in chains. Results have the same bits as ops run one
// by
// one, however tensors share memory. Ops whose results nobody reads are left out.
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tandem/core/loop/graph.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/models/captured_training.h"

using namespace tandem;
using namespace tandem::test;
using Catch::Matchers::Contains;

TEST_CASE("elementwise ops of a record run tile by tile, their temporaries in the cache", "[graph]") {
  for (const int64_t n : {0, 1, 7, 1023, 1024, 1025, 40'000, 300'007}) {
    CAPTURE(n);
    manual_seed(n);
    const Tensor a = randn({n}), b = randn({n}), c = randn({n});
    const Tensor eager = (a * b + c).relu();
    Tensor y;
    Graph graph;
    graph.capture([&] { y = (a * b + c).relu(); });
    graph.replay();
    REQUIRE(y.equal(eager));
    CHECK(graph.summary().loops == 3);
    CHECK(graph.summary().chained_loops == (n == 0 ? 0 : 3));
    CHECK(graph.summary().bytes == 0);
    CHECK(graph.summary().unshared_bytes == 2 * 4 * n);
    graph.set_optimize(false);
    graph.capture([&] { y = (a * b + c).relu(); });
    graph.replay();
    REQUIRE(y.equal(eager));
    CHECK(graph.summary().chained_loops == 0);
    CHECK(graph.summary().bytes == (n == 0 ? 0 : (4 * n + 63) / 64 * 64 + 4 * n));
  }
}

namespace {

/// Random elementwise ops on tensors that share memory: the same tensor, shifted views, single elements, strided views,
/// other dtypes. Ops are in place or not, and their results are kept or dropped.
class RandomProgram {
 public:
  RandomProgram(uint32_t seed, int64_t n) : random_(seed), n_(n) {
    manual_seed(seed);
    memory_ = rand({2 * n + 2});
    whole_ = randint(100, {n}).to(kInt32);
    exact_ = rand({n}).to(kFloat64);
    half_ = rand({n}).to(kFloat16);
  }
  /// Runs the program. A second run with the same tensor values repeats it exactly.
  std::vector<Tensor> run() {
    std::mt19937 random = random_;
    const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
    std::vector<Tensor> reads{memory_.narrow(0, 0, n_),
                              memory_.narrow(0, 1, n_),
                              memory_.narrow(0, n_ + 1, n_),
                              memory_.slice(0, 0, 2 * n_, 2),
                              whole_,
                              exact_,
                              half_,
                              memory_.select(0, 3 % n_)};
    std::vector<Tensor> writes{reads[0], reads[1], reads[2], reads[3], exact_, half_};
    std::vector<Tensor> results;
    for (int step = 0; step < 24; ++step) {
      const Tensor &a = reads[pick(reads.size())], &b = reads[pick(reads.size())];
      Tensor made;
      switch (pick(8)) {
        case 0: made = a * 0.75 + b; break;
        case 1: made = (a - b).abs(); break;
        case 2: made = a.clamp(0.25, 0.75); break;
        case 3: made = where(a > b, a, b); break;
        case 4: made = a.to(kFloat32).tanh(); break;
        default: {
          Tensor to = writes[pick(writes.size())];
          const size_t how = pick(4);
          if (how == 0) to.mul_(0.5);
          if (how == 1) to.copy_(reads[pick(3)]);
          if (how == 2) to.fill_(0.125);
          if (how == 3) to.add_(to, 0.25);
        }
      }
      if (!made.defined()) continue;
      if (made.dim() == 0) made = made + zeros({n_});
      reads.push_back(made);
      if (pick(3) == 0) results.push_back(made);
      if (pick(3) == 0 && is_floating_point(made.dtype())) writes.push_back(made);
    }
    return results;
  }
  /// Tensors that a run may change.
  std::vector<Tensor> state() const { return {memory_, whole_, exact_, half_}; }

 private:
  std::mt19937 random_;
  int64_t n_;
  Tensor memory_, whole_, exact_, half_;
};

}  // namespace

TEST_CASE("random elementwise programs on shared memory: a record does what they do", "[graph]") {
  int64_t chained = 0, loops = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const int64_t n = seed % 3 == 0 ? 5 : seed % 3 == 1 ? 2000 : 9000;
    CAPTURE(seed, n);
    RandomProgram eager(seed, n), captured(seed, n);
    const std::vector<Tensor> expected = eager.run();
    std::vector<Tensor> made;
    Graph graph;
    graph.capture([&] { made = captured.run(); });
    graph.replay();
    require_same(made, expected);
    require_same(captured.state(), eager.state());
    chained += graph.summary().chained_loops;
    loops += graph.summary().loops;
  }
  INFO(chained << " of " << loops);
  CHECK(chained > loops / 2);  // otherwise the test would show little
}

TEST_CASE("a record leaves out what nobody reads, but not what may throw", "[graph]") {
  const Tensor x = rand({100}), whole = ones({3}, kInt64);
  Tensor zero = ones({3}, kInt64), y;
  Graph graph;
  graph.capture([&] {
    const Tensor unused = (x * 2 + 1).exp();
    y = x + 1;
  });
  CHECK(graph.summary().loops == 1);
  graph.replay();
  CHECK(y.equal(x + 1));
  graph.capture([&] { whole.remainder(zero); });
  CHECK(graph.summary().loops > 0);
  graph.replay();
  zero.zero_();
  CHECK_THROWS_WITH(graph.replay(), Contains("remainder"));
  // An op stays if a part of its result is read later, even if another part is overwritten in between.
  graph.capture([&] {
    Tensor z = x * 3;
    z.narrow(0, 0, 50).fill_(7);
    y = z.narrow(0, 25, 50) + 0;
  });
  graph.replay();
  CHECK(y.narrow(0, 0, 25).equal(full({25}, 7.0)));
  CHECK(y.narrow(0, 25, 25).equal(x.narrow(0, 50, 25) * 3));
}
