// Tests Graphs: captured steps against the same steps run eagerly, calls that cannot be captured, and memory use.
#include "tandem/core/loop/graph.h"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tandem/tests/models/captured_training.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("captured training is eager training, bit for bit", "[graph][one_thread]") {
  for (const char* name : {"simple_model", "mlp", "lenet", "fashion_cnn"}) {
    CAPTURE(name);
    const int steps = std::string(name) == "fashion_cnn" ? 20 : 100;  // a step of fashion_cnn takes 20 times as long
    const std::vector<Tensor> eager = train(name, steps, false), replayed = train(name, steps, true);
    require_same(replayed, eager);
    REQUIRE(!eager[0].equal(eager[1]));  // each step has a new batch, so losses differ
  }
}

TEST_CASE("ranks that are threads capture at once", "[graph][parallel]") {
  std::vector<std::vector<Tensor>> out(4);
  const std::vector<Tensor> eager = train("lenet", 10, false);
  distributed::run_ranks(4, [&](int rank) { out[static_cast<size_t>(rank)] = train("lenet", 10, rank != 3); });
  for (const auto& each : out) require_same(each, eager);
}

TEST_CASE("temporaries of a record share memory, and a capture takes no more than the step", "[graph][one_thread]") {
  Training t = make_training("fashion_cnn");
  const Tensor x = t.input(), target = t.target();
  const auto step = [&] {
    t.optimizer->zero_grad();
    t.loss(t.forward(x), target).backward();
    t.optimizer->step();
  };
  step();
  const auto peak_of = [&](const std::function<void()>& f) {
    t.optimizer->zero_grad();
    reset_peak_memory_stats();
    const int64_t before = memory_stats().current;
    f();
    return memory_stats().peak - before;
  };
  const int64_t eager = peak_of(step);
  Graph graph;
  const int64_t capture = peak_of([&] { graph.capture(step); });
  INFO("eager " << eager << ", capture " << capture << ", shared " << graph.summary().bytes << " of "
                << graph.summary().unshared_bytes);
  CHECK(graph.summary().bytes <= eager);
  CHECK(graph.summary().bytes < graph.summary().unshared_bytes / 2);
  CHECK(capture <= eager + eager / 4);  // capture frees tensors when they are no longer used, and then plans the memory
  const int64_t replay = peak_of([&] { graph.replay(); });
  CHECK(replay <= eager / 4);  // only scratch memory of kernels
}

TEST_CASE("a record sees the values of its inputs, and what kernels refuse", "[graph][errors]") {
  Tensor x = rand({4, 3}), target = zeros({4}, kInt64);
  Tensor loss;
  Graph graph;
  graph.capture([&] { loss = cross_entropy(x * 2, target); });
  for (int i = 0; i < 3; ++i) {
    x.copy_(rand({4, 3}));
    target.fill_(i);
    graph.replay();
    CHECK(loss.equal(cross_entropy(x * 2, target)));
  }
  target.fill_(3);
  CHECK_THROWS_WITH(graph.replay(), Contains("cross_entropy: target 0 is 3; accepted: 0 to 2"));
  target.fill_(0);
  graph.replay();
  CHECK(loss.equal(cross_entropy(x * 2, target)));
}

TEST_CASE("what the host wrote into a record's temporaries is there at each replay", "[graph]") {
  const Tensor x = ones({3});
  Tensor y;
  Graph graph;
  graph.capture([&] {
    Tensor table = tensor({1.0, 2.0, 3.0});
    y = table * x;
    table.add_(x);  // each replay must see the original table
    y = y + table;
    Tensor other = tensor({1.0, 2.0, 3.0});
    other[1].copy_(x[0]);  // the other elements keep the host's values
    y = y + other;
  });
  for (int i = 0; i < 3; ++i) {
    graph.replay();
    CHECK(y.equal(tensor({4.0, 6.0, 10.0})));
  }
}

TEST_CASE("a record writes and reads memory of the program's own, though it holds no tensor of it", "[graph]") {
  std::vector<float> result(6, 0), sums(6, 0), given(6, 1);
  const Tensor x = ones({6});
  Graph graph;
  graph.set_optimize(GENERATE(true, false));
  graph.capture([&] {
    from_blob(result.data(), {6}).copy_(x * 2);
    from_blob(sums.data(), {6}).add_(from_blob(given.data(), {6}));
  });
  for (const float i : {1.0f, 2.0f, 3.0f}) {
    x.fill_(i);
    std::fill(given.begin(), given.end(), 10 * i);
    std::fill(result.begin(), result.end(), -1.0f), std::fill(sums.begin(), sums.end(), 0.0f);
    graph.replay();
    CHECK(result == std::vector<float>(6, 2 * i));
    CHECK(sums == std::vector<float>(6, 10 * i));
  }
}

TEST_CASE("random numbers go on from replay to replay, as they would", "[graph]") {
  manual_seed(3);
  std::vector<Tensor> eager;
  for (int i = 0; i < 3; ++i) eager.push_back(dropout(ones({50}), 0.5, true) + rand({50}));
  manual_seed(3);
  Tensor y;
  Graph graph;
  graph.capture([&] { y = dropout(ones({50}), 0.5, true) + rand({50}); });
  for (const Tensor& want : eager) {
    graph.replay();
    CHECK(y.equal(want));
  }
  manual_seed(3);
  graph.replay();
  CHECK(y.equal(eager[0]));
}

TEST_CASE("what cannot be recorded throws by name, and leaves nothing behind", "[graph][errors]") {
  const Tensor x = ones({4}).requires_grad_(), mask = ones({4}, kBool);
  optim::Adam adam({x}, optim::AdamOptions(0.1));
  optim::SGD sgd({x}, optim::SGDOptions(0.1).momentum(0.9));
  x.mutable_grad() = ones({4});
  distributed::init_process_group("local");
  Graph graph, other;
  const std::vector<std::pair<const char*, std::function<void()>>> refused = {
      {"item", [&] { x.sum().item(); }},
      {"item", [&] { x.equal(x); }},
      {"nonzero", [&] { nonzero(x); }},
      {"masked_select", [&] { x.masked_select(mask); }},
      {"one_hot", [&] { one_hot(zeros({3}, kInt64)); }},
      {"randperm", [&] { randperm(4); }},
      {"clip_grad_norm_", [&] { nn::utils::clip_grad_norm_({x}, 1.0); }},
      {"Adam", [&] { adam.step(); }},
      {"SGD", [&] { sgd.step(); }},
      {"Graph::capture_begin", [&] { other.capture([] {}); }},
      {"Graph::replay", [&] { other.replay(); }},
      {"DataParallel",
       [&] {
         nn::DataParallel<nn::Linear>(nn::Linear(4, 1), {kCPU}).forward(ones({2, 4}));
       }},
      {"all_reduce", [&] { distributed::all_reduce(ones({2})); }},
  };
  for (const auto& [name, step] : refused) {
    CAPTURE(name);
    CHECK_THROWS_WITH(graph.capture(step), Contains(std::string(name) + ": cannot be captured by a Graph"));
    CHECK(!ThreadContext::current().observer);
    CHECK_THROWS_WITH(graph.replay(), Contains("without a preceding successful capture"));
  }
  distributed::destroy_process_group();
  CHECK_THROWS_WITH(graph.capture([] { throw std::runtime_error("mine"); }), "mine");
  CHECK_THROWS_WITH(graph.capture_end(), Contains("capture_end() called before capture_begin()"));
  CHECK((x + 1).sum().item<double>() == 8);
}

TEST_CASE("a capture runs nothing, in two halves as in one call", "[graph]") {
  Tensor x = zeros({3});
  Graph graph;
  graph.capture_begin();
  x.add_(1);
  std::thread([&] { x.add_(10); }).join();  // other threads are not captured
  graph.capture_end();
  CHECK(x.equal(full({3}, 10.0)));
  graph.replay();
  graph.replay();
  CHECK(x.equal(full({3}, 12.0)));
  CHECK(graph.summary().loops == 1);
  graph.reset();
  CHECK_THROWS_WITH(graph.replay(), Contains("without a preceding successful capture"));
  {
    Graph unfinished;
    unfinished.capture_begin();
  }
  CHECK(!ThreadContext::current().observer);
}

TEST_CASE("a replay raises the versions of what it writes", "[graph]") {
  Tensor x = ones({3}), weight = ones({3}).requires_grad_();
  Graph graph;
  graph.capture([&] { x.add_(1); });
  const Tensor y = weight * x;
  graph.replay();
  CHECK_THROWS_WITH(y.sum().backward(), Contains("modified by an inplace operation"));
}
