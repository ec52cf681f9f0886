// Tests Graphs of training steps on GPUs: captured steps against the same steps run eagerly, and calls that cannot be
// captured.
#include <functional>
#include <string>
#include <vector>

#include "tandem/core/loop/graph.h"
#include "tandem/tests/core/cuda/gpu.h"
#include "tandem/tests/models/captured_training.h"

using namespace tandem;
using namespace tandem::test;

namespace {

Tensor on_gpu(Shape sizes, double value) { return full(sizes, value, TensorOptions(kGpu)); }

}  // namespace

TEST_CASE("captured training on a GPU is eager training, bit for bit", "[graph][cuda][one_thread]") {
  if (!has_gpu()) return;
  // All models would take minutes under a sanitizer. Two models and one execution order cover the same code.
  const StreamSeed seed(TANDEM_TEST_SANITIZED ? 7 : GENERATE(0, 7));
  const std::vector<std::string> all = {"simple_model", "mlp", "lenet", "fashion_cnn"},
                                 some = {"simple_model", "lenet"};
  for (const std::string& name : TANDEM_TEST_SANITIZED ? some : all) {
    CAPTURE(name);
    const int steps = TANDEM_TEST_SANITIZED ? 2 : name == "simple_model" ? 12 : 4;
    const std::vector<Tensor> eager = train(name, steps, false, kGpu, 2), replayed = train(name, steps, true, kGpu, 2);
    require_same(replayed, eager);
    REQUIRE(!eager[0].equal(eager[1]));  // each step has a new batch, so losses differ
  }
}

TEST_CASE("ranks that are threads capture at once, each on its GPU", "[graph][cuda][parallel]") {
  if (!has_gpu()) return;
  const int gpus = std::min(cuda::device_count(), 2);
  const StreamSeed seed(GENERATE(0, 5));
  std::vector<std::vector<Tensor>> out(static_cast<size_t>(gpus));
  const std::vector<Tensor> eager = train("mlp", 3, false, kGpu, 2);
  distributed::run_ranks(gpus, [&](int rank) {
    for (const Tensor& each : train("mlp", 3, true, Device(kCUDA, rank), 2))
      out[static_cast<size_t>(rank)].push_back(each.to(kGpu));
  });
  for (const auto& each : out) require_same(each, eager);
}

TEST_CASE("a capture on a GPU runs nothing, in two halves as in one call", "[graph][cuda]") {
  if (!has_gpu()) return;
  Tensor x = on_gpu({3}, 0);
  cuda::CUDAGraph graph;
  CHECK_FALSE(cuda::is_current_stream_capturing());
  graph.capture_begin();
  x.add_(1);
  CHECK(cuda::is_current_stream_capturing());
  CHECK_FALSE(cuda::current_stream() == cuda::default_stream());
  graph.capture_end();
  CHECK_FALSE(cuda::is_current_stream_capturing());
  CHECK(cuda::current_stream() == cuda::default_stream());
  CHECK(x.equal(on_gpu({3}, 0)));
  graph.replay();
  graph.replay();
  CHECK(x.equal(on_gpu({3}, 2)));
  CHECK(graph.summary().gpu_calls == 1);
  CHECK(graph.summary().loops == 0);
  graph.reset();
  CHECK_THROWS_WITH(graph.replay(), Contains("Called CUDAGraph::replay without a preceding successful capture"));
  CHECK_THROWS_WITH(graph.pool(), Contains("Called CUDAGraph::pool() without a preceding successful capture"));
  {
    Graph unfinished;
    unfinished.capture_begin();
    x.add_(1);
  }
  CHECK(!ThreadContext::current().observer);
  CHECK(x.equal(on_gpu({3}, 2)));
}

TEST_CASE("a replay on a GPU raises versions, and goes on with the random numbers", "[graph][cuda]") {
  if (!has_gpu()) return;
  const TensorOptions options(kGpu);
  Tensor x = ones({3}, options), weight = ones({3}, options).requires_grad_(), y;
  manual_seed(3);
  std::vector<Tensor> eager;
  for (int i = 0; i < 3; ++i) eager.push_back(dropout(ones({50}, options), 0.5, true) + rand({50}, options));
  manual_seed(3);
  Graph graph;
  graph.capture([&] {
    x.add_(1);
    y = dropout(ones({50}, options), 0.5, true) + rand({50}, options);
  });
  const Tensor z = weight * x;
  for (const Tensor& want : eager) {
    graph.replay();
    CHECK(y.equal(want));
  }
  CHECK_THROWS_WITH(z.sum().backward(), Contains("modified by an inplace operation"));
}

TEST_CASE("what a replay writes before the launch is no temporary's", "[graph][cuda]") {
  if (!has_gpu()) return;
  const TensorOptions options(kGpu);
  const auto step = [&] {
    Tensor y = ones({50}, options);
    for (int i = 0; i < 5; ++i) y = dropout(y + 1, 0.5, true);  // random states are allocated after many temporaries
    return y;
  };
  manual_seed(3);
  std::vector<Tensor> eager;
  for (int i = 0; i < 3; ++i) eager.push_back(step());
  manual_seed(3);
  Tensor y;
  Graph graph;
  graph.capture([&] { y = step(); });
  for (const Tensor& want : eager) {
    graph.replay();
    CHECK(y.equal(want));
  }
}

TEST_CASE("a replay comes after the last one, whichever stream that was on", "[graph][cuda][streams]") {
  if (!has_gpu()) return;
  const StreamSeed seed(GENERATE(0, 1, 2, 3, 5, 7));
  const TensorOptions options(kGpu);
  Tensor sum = zeros({50}, options);
  const auto step = [&] { sum.add_(dropout(ones({50}, options), 0.5, true) * (sum + 1)); };
  manual_seed(3);
  for (int i = 0; i < 6; ++i) step();
  const Tensor eager = sum.clone();
  sum.zero_();
  manual_seed(3);
  Graph graph;
  graph.capture(step);
  const std::vector<cuda::Stream> streams = {cuda::Stream(kGpu), cuda::Stream(kGpu)};
  for (const cuda::Stream& stream : streams) stream.wait_stream(cuda::current_stream());
  for (int i = 0; i < 6; ++i) {
    const cuda::StreamGuard guard(streams[static_cast<size_t>(i % 2)]);
    graph.replay();  // writes the random state before the launch
  }
  for (const cuda::Stream& stream : streams) cuda::current_stream().wait_stream(stream);
  CHECK(sum.equal(eager));
}

TEST_CASE("an index out of range is thrown by the synchronization after a replay", "[graph][cuda][errors]") {
  if (!has_gpu()) return;
  const Tensor x = rand({4, 3}, TensorOptions(kGpu));
  Tensor target = zeros({4}, TensorOptions(kInt64).device(kGpu)), loss;
  Graph graph;
  graph.capture([&] { loss = cross_entropy(x, target); });
  target.fill_(3);
  graph.replay();
  CHECK_THROWS_WITH(cuda::synchronize(kGpu), Contains("target 0 is 3; accepted: 0 to 2") || Contains("index 0 is 3"));
  target.fill_(1);
  graph.replay();
  CHECK(loss.equal(cross_entropy(x, target)));
}

TEST_CASE("a step may use several GPUs and the CPU", "[graph][cuda]") {
  if (!has_gpu() || cuda::device_count() < 2) return;
  const StreamSeed seed(GENERATE(0, 1, 2, 3, 5, 7));
  const Device second(kCUDA, 1);
  Tensor x = on_gpu({64}, 1).requires_grad_(), w = full({64}, 3.0, TensorOptions(second)).requires_grad_();
  Tensor count = zeros({2}), loss;
  const auto step = [&] {
    x.mutable_grad() = Tensor(), w.mutable_grad() = Tensor();
    loss = ((x * 2).to(second) * w).sum().to(kGpu);
    loss.backward();
    const NoGradGuard guard;
    x.add_(x.grad(), 0.125);
    w.add_(w.grad(), 0.125);
    count.add_(1);
  };
  const Tensor x_before = x.detach().clone(), w_before = w.detach().clone();
  std::vector<Tensor> eager;
  for (int i = 0; i < 3; ++i) {
    step();
    eager.push_back(loss.detach().clone());
  }
  {
    const NoGradGuard guard;
    x.copy_(x_before), w.copy_(w_before);
  }
  Graph graph;
  graph.capture(step);
  for (const Tensor& want : eager) {
    graph.replay();
    CHECK(loss.detach().equal(want));
  }
  CHECK(count.equal(full({2}, 6.0)));
  CHECK(graph.summary().loops > 0);
  CHECK(graph.summary().gpu_calls > 0);
}

TEST_CASE("what cannot be recorded of a GPU throws by name, and leaves nothing behind", "[graph][cuda][errors]") {
  if (!has_gpu()) return;
  const Tensor x = on_gpu({4}, 1).requires_grad_(), mask = ones({4}, TensorOptions(kBool).device(kGpu));
  optim::Adam adam({x}, optim::AdamOptions(0.1));
  x.mutable_grad() = on_gpu({4}, 1);
  distributed::init_process_group("local");
  Graph graph, other;
  nn::Linear linear(4, 1);
  linear->to(kGpu);
  const cuda::Stream side(kGpu);
  cuda::Event event;
  event.record(side);
  Tensor host = ones({4}), pinned = ones({4}).pin_memory();
  const std::vector<std::pair<const char*, std::function<void()>>> refused = {
      {"item", [&] { x.sum().item(); }},
      {"nonzero", [&] { nonzero(x); }},
      {"masked_select", [&] { x.masked_select(mask); }},
      {"one_hot", [&] { one_hot(zeros({3}, TensorOptions(kInt64).device(kGpu))); }},
      {"clip_grad_norm_", [&] { nn::utils::clip_grad_norm_({x}, 1.0); }},
      {"Adam", [&] { adam.step(); }},
      {"copy_ or to, between host and GPU", [&] { (x * 2).to(kCPU); }},
      {"copy_ or to, between host and GPU", [&] { (x * 2).add_(host.to(kGpu)); }},
      {"copy_ or to, between host and GPU", [&] { (x * 2).detach().copy_(host, /*non_blocking=*/true); }},
      {"copy_ or to, between host and GPU", [&] { (x * 2).detach().copy_(pinned); }},
      {"synchronize", [&] { (void)(x * 2), cuda::synchronize(kGpu); }},
      {"Stream::synchronize", [&] { (void)(x * 2), side.synchronize(); }},
      {"Stream::query", [&] { (void)(x * 2), side.query(); }},
      {"Event::synchronize", [&] { (void)(x * 2), event.synchronize(); }},
      {"Event::query", [&] { (void)(x * 2), event.query(); }},
      {"Graph::capture_begin", [&] { (void)(x * 2), other.capture([] {}); }},
      {"Graph::replay", [&] { (void)(x * 2), other.replay(); }},
      {"DataParallel",
       [&] {
         nn::DataParallel<nn::Linear>(linear, {kGpu}).forward(on_gpu({2, 4}, 1));
       }},
      {"all_reduce", [&] { distributed::all_reduce(on_gpu({2}, 1)); }},
  };
  const auto step = [&] { return (x * 2 + 1).sum(); };
  for (const auto& [name, call] : refused) {
    CAPTURE(name);
    CHECK_THROWS_WITH(graph.capture([&, &call = call] {
      step();
      call();
    }),
                      Contains(std::string(name) + ": cannot be captured by a Graph"));
    CHECK(!ThreadContext::current().observer);
    CHECK(!ThreadContext::current().capture);
    CHECK_THROWS_WITH(graph.replay(), Contains("Called CUDAGraph::replay without a preceding successful capture"));
    CHECK(step().item<double>() == 12);
    Tensor y;
    graph.capture([&] { y = step(); });
    graph.replay();
    CHECK(y.item<double>() == 12);
  }
  distributed::destroy_process_group();
  CHECK_THROWS_WITH(graph.capture([&] {
    step();
    throw std::runtime_error("mine");
  }),
                    "mine");
  CHECK_THROWS_WITH(graph.capture_end(), Contains("capture_end() called before capture_begin()"));
  CHECK(step().item<double>() == 12);
}
