// Tests on which GPU streams backward runs. The emulated device tries many execution orders; a GPU has one.
#include <vector>

#include "tandem/tandem.h"
#include "tandem/tests/core/cuda/gpu.h"

using namespace tandem;
using test::kGpu;

namespace {

#if TANDEM_TEST_EMULATED
constexpr uint64_t kSeeds = TANDEM_TEST_SANITIZED ? 20 : 200;
struct Orders {
  explicit Orders(uint64_t seed) { emulation::set_stream_seed(seed); }
  ~Orders() { emulation::set_stream_seed(0); }
};
#else
constexpr uint64_t kSeeds = 1;
struct Orders {
  explicit Orders(uint64_t) {}
};
#endif

/// A graph in two parts, recorded on the streams `first` and `second`, with a gradient that comes from both parts.
struct Chain {
  Tensor x, w, hidden, loss;  // x and w are used on the streams, so they must outlive the work on them
  Chain(Device device, const cuda::Stream* first, const cuda::Stream* second) {
    manual_seed(5);
    x = randn({6, 7}).to(device);
    w = randn({7, 7}).to(device).requires_grad_();
    const auto on = [&](const cuda::Stream* stream, const auto& f) {
      if (!stream) return f();
      stream->wait_stream(cuda::current_stream(device));
      const cuda::StreamGuard guard(*stream);
      f();
    };
    on(first, [&] { hidden = matmul(x, w).tanh(); });
    if (second) second->wait_stream(*first);
    on(second, [&] { loss = (matmul(hidden, w) * hidden).sum(); });
    hidden.retain_grad();
  }
};

/// Calls check(graph, plain, first, second) for each execution order. `plain` is the same graph without its own
/// streams.
template <class Check> void in_many_orders(Check check) {
  if (!test::has_gpu()) return;
  const cuda::Stream first(kGpu), second(kGpu);
  const Chain plain(kGpu, nullptr, nullptr);
  plain.loss.backward();
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Orders orders(seed);
    CAPTURE(seed);
    check(Chain(kGpu, &first, &second), plain, first, second);
    cuda::synchronize(kGpu);
  }
}

}  // namespace

TEST_CASE("backward runs on the streams of its forward, and its gradients are ready on the caller's",
          "[cuda][autograd][stream]") {
  in_many_orders([](const Chain& graph, const Chain& plain, const cuda::Stream& first, const cuda::Stream& second) {
    graph.loss.backward();
    const Tensor hidden_grad = graph.hidden.grad();
    // reuses the memory of released saved tensors, which nothing may read now
    for (const cuda::Stream* stream : {&first, &second}) {
      const cuda::StreamGuard guard(*stream);
      for (int i = 0; i < 8; ++i) full({6, 7}, 99, kGpu), full({7, 7}, 99, kGpu);
    }
    REQUIRE(graph.w.grad().cpu().equal(plain.w.grad().cpu()));
    REQUIRE(hidden_grad.cpu().equal(plain.hidden.grad().cpu()));
  });
}
TEST_CASE("gradients that grad() returns are ready on the caller's stream", "[cuda][autograd][stream]") {
  in_many_orders([](const Chain& graph, const Chain& plain, const cuda::Stream&, const cuda::Stream&) {
    const Tensor grad = autograd::grad({graph.loss}, {graph.w})[0] * 2;
    REQUIRE(grad.cpu().equal((plain.w.grad() * 2).cpu()));
  });
}
TEST_CASE("backward may be called within a stream of its own", "[cuda][autograd][stream]") {
  in_many_orders([](const Chain& graph, const Chain& plain, const cuda::Stream&, const cuda::Stream& second) {
    const cuda::Stream third(kGpu);
    third.wait_stream(second);
    const cuda::StreamGuard guard(third);
    graph.loss.backward();
    REQUIRE(graph.w.grad().cpu().equal(plain.w.grad().cpu()));
  });
}
