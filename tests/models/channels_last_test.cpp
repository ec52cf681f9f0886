// Tests networks in channels-last: which tensors are copied, and that results equal those of row-major tensors.
#include <atomic>
#include <cstring>

#include "tandem/core/trace/observer.h"
#include "tandem/models/models.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/devices.h"
#include "tandem/tests/temporary.h"

using namespace tandem;
using tandem::distributed::run_ranks;

namespace {

/// Counts copies of tensors of four dimensions, by any kernel call.
class CopyCounter : public Observer {
 public:
  void on_kernel_call(const KernelCall& call) override {
    for (const Tensor* const y : call.writes)
      if ((!std::strcmp(call.op, "copy") || !std::strcmp(call.op, "transfer")) && y->dim() == 4) ++copies_;
    pass_to_outer(call);
  }
  int copies() const { return copies_; }

 private:
  std::atomic<int> copies_{0};
};
int copies_of(const std::function<void()>& f) {
  const auto counter = std::make_shared<CopyCounter>();
  {
    const ObserverGuard guard(counter);
    f();
  }
  return counter->copies();
}

std::vector<Device> devices() {
  std::vector<Device> all{kCPU};
  if (cuda::is_available()) all.push_back(kCUDA);
  return all;
}

nn::Sequential make_net() {
  manual_seed(5);
  return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(3, 8, 3).padding(1)), nn::BatchNorm2d(8), nn::ReLU(),
                        nn::MaxPool2d(2), nn::Conv2d(8, 6, 3), nn::BatchNorm2d(6), nn::ReLU(), nn::MaxPool2d(2));
}
/// Returns the largest difference relative to the largest element. The floor of 0.1 matters for gradients before a
/// batch
/// norm, which are zero up to rounding.
double difference(const Tensor& a, const Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(0.1)).item<double>();
}
bool is_last(const Tensor& x) { return x.suggest_memory_format() == MemoryFormat::ChannelsLast; }

}  // namespace

TEST_CASE("a convolution net runs channels-last forward and backward without a copy", "[channels_last]") {
  const Device device = GENERATE(from_range(devices()));
  CAPTURE(device);
  const bool training = GENERATE(true, false);
  nn::Sequential net = make_net();
  net->to(device);
  net->train(training);
  manual_seed(6);
  const Tensor x = randn({4, 3, 14, 14}, device), seed = randn({4, 6, 2, 2}, device);
  const auto run = [&](MemoryFormat format, int* copies) {
    net->zero_grad();
    net->to(format);
    const Tensor input = x.clone(format).requires_grad_(), dy = seed.to(format);
    Tensor y;
    const int counted = copies_of([&] {
      y = net(input);
      y.backward(dy);
    });
    if (copies) *copies = counted;
    std::vector<Tensor> out{y.detach(), input.grad()};
    for (const Tensor& p : net->parameters()) out.push_back(p.grad());
    for (const Tensor& t : out)
      if (t.dim() == 4) CHECK(is_last(t) == (format == MemoryFormat::ChannelsLast));
    return out;
  };
  const std::vector<Tensor> plain = run(MemoryFormat::Contiguous, nullptr);
  int copies = -1;
  const std::vector<Tensor> last = run(MemoryFormat::ChannelsLast, &copies);
  CHECK(copies == 0);
  for (size_t i = 0; i < plain.size(); ++i) {
    CAPTURE(i);
    CHECK(difference(last[i], plain[i]) < 1e-4);  // tolerance: float sums of a few thousand terms, in another order
  }
}

TEST_CASE("of a whole network only flatten copies", "[channels_last]") {
  const Device device = GENERATE(from_range(devices()));
  models::FashionCnn net;
  net->to(device);
  net->to(kChannelsLast);
  const Tensor x = rand({3, 1, 28, 28}, device).to(kChannelsLast);
  Tensor loss;
  CHECK(copies_of([&] { loss = net(x).square().mean(); }) == 1);
  CHECK(copies_of([&] { loss.backward(); }) == 1);  // the gradient of flatten becomes channels-last again
}

TEST_CASE("elementwise results are the same bits in either format", "[channels_last]") {
  const Device device = GENERATE(from_range(devices()));
  const Tensor a = randn({2, 5, 6, 7}, device), b = rand({2, 5, 6, 7}, device) + 0.5, c = randn({5, 1, 1}, device);
  const Tensor la = a.to(kChannelsLast), lb = b.to(kChannelsLast);
  const auto same = [](const Tensor& last, const Tensor& plain) {
    CHECK(is_last(last));
    CHECK(last.nan_to_num(7).equal(plain.nan_to_num(7)));  // NaN outside of an op's domain
  };
#define X(name, ...) same(lb.name(), b.name());
  TANDEM_UNARY_OPS(X)
#undef X
  same(la + lb, a + b), same(la * c, a * c), same(la / lb, a / b), same(lb.pow(la), b.pow(a)), same(la < lb, a < b);
  same(where(la > 0, la, lb), where(a > 0, a, b)), same(la.to(kFloat16), a.to(kFloat16)), same(gelu(la), gelu(a));
  // With inputs of different formats, the first input determines the format.
  same(la + b, a + b);
  CHECK((a + lb).is_contiguous());
}

TEST_CASE("pools of channels-last images give what they give of planes", "[channels_last][pool]") {
  const Device device = GENERATE(from_range(devices()));
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    CAPTURE(device, dtype);
    // 70 channels exceed the group of channels that is processed together. Equal numbers show which of them max pooling
    // picks.
    const Tensor x = (randint(-9, 10, {2, 70, 9, 7}, device).to(kFloat32) / 4).to(dtype);
    const auto compare = [&](const auto& pool, bool bits) {
      const Tensor plain = x.clone().requires_grad_(), last = x.clone(kChannelsLast).requires_grad_();
      const Tensor want = pool(plain), got = pool(last);
      const Tensor dy = rand(want.sizes(), device).to(dtype);
      want.backward(dy), got.backward(dy.to(kChannelsLast));
      CHECK(is_last(got));
      CHECK(is_last(last.grad()));
      // one or two units in the last place
      const double bound = bits ? 0 : dtype == kFloat64 ? 1e-14 : dtype == kFloat32 ? 1e-6 : 1e-2;
      CHECK(difference(got.detach(), want.detach()) <= bound);
      CHECK(difference(last.grad(), plain.grad()) <= bound);
    };
    compare([](const Tensor& t) { return max_pool2d(t, 2); }, true);
    compare([](const Tensor& t) { return max_pool2d(t, 3, 2, 1, 1, true); }, true);
    compare([](const Tensor& t) { return max_pool2d(t, {3, 2}, {2, 1}, 1, {1, 2}); }, true);
    compare([](const Tensor& t) { return avg_pool2d(t, 2); }, false);
    compare([](const Tensor& t) { return avg_pool2d(t, 3, 2, 1, true, false); }, false);
    compare([](const Tensor& t) { return avg_pool2d(t, {2, 3}, {3, 4}, {0, 1}); }, false);
    compare([](const Tensor& t) { return adaptive_avg_pool2d(t, {4, 3}); }, false);
    compare([](const Tensor& t) { return adaptive_avg_pool2d(t, {11, 1}); }, false);
    const auto [y, index] = max_pool2d_with_indices(x.to(kChannelsLast), 3, 2);
    CHECK(is_last(index));
    CHECK(index.equal(std::get<1>(max_pool2d_with_indices(x, 3, 2))));
  }
}

TEST_CASE("batch norm of rows adds up in the order of planes, bit for bit", "[channels_last][norm]") {
  for (const DType dtype : {kFloat32, kFloat64, kFloat16, kBFloat16})
    for (const Shape& sizes : {Shape{7, 3}, Shape{2048, 40}, Shape{5000, 33}, Shape{4097, 300}})
      for (const bool training : {true, false}) {
        CAPTURE(dtype, sizes, training);
        const Tensor x = randn(sizes).to(dtype), dy = randn(sizes).to(dtype), w = rand({sizes[1]}).to(dtype);
        const auto run = [&](const auto& laid_out) {
          const Tensor input = laid_out(x).clone().requires_grad_(), weight = w.clone().requires_grad_(),
                       bias = w.clone().requires_grad_();
          const Tensor mean = zeros({sizes[1]}, dtype), var = ones({sizes[1]}, dtype);
          const Tensor y = batch_norm(input, weight, bias, mean, var, training);
          y.backward(laid_out(dy).clone());
          return std::vector<Tensor>{y.detach(), input.grad(), weight.grad(), bias.grad(), mean, var};
        };
        const auto rows = run([](const Tensor& t) { return t; });
        // One image with the same pixels, which uses the kernel for planes.
        const auto planes = run([](const Tensor& t) { return t.t().unsqueeze(0).contiguous(); });
        for (size_t i = 0; i < rows.size(); ++i) {
          CAPTURE(i);
          CHECK(rows[i].equal(i < 2 ? planes[i].squeeze(0).t() : planes[i]));
        }
      }
}

TEST_CASE("a captured step in channels-last is the eager one, bit for bit", "[channels_last][graph]") {
  const Device device = GENERATE(from_range(devices()));
  if (device.is_cuda() && TANDEM_TEST_SANITIZED) return;  // takes over a minute and only repeats kernels tested above
  CAPTURE(device);
  const auto train = [&](bool captured, MemoryFormat format) {
    manual_seed(3);
    models::FashionCnn net;
    net->to(device);
    net->to(format);
    optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
    Tensor x = rand({4, 1, 28, 28}).to(device).to(format);
    const Tensor target = randint(10, {4}).to(device);
    Tensor loss;
    const auto step = [&] {
      optimizer.zero_grad();
      loss = cross_entropy(net(x), target);
      loss.backward();
      optimizer.step();
      loss = loss.detach();
    };
    step();
    Graph graph;
    if (captured) graph.capture(step);
    std::vector<Tensor> out;
    for (int i = 0; i < 3; ++i) {
      x.copy_(rand({4, 1, 28, 28}));
      captured ? graph.replay() : step();
      out.push_back(loss.clone());
    }
    for (const Tensor& p : net->parameters()) out.push_back(p.detach().clone());
    return out;
  };
  const std::vector<Tensor> eager = train(false, kChannelsLast), replayed = train(true, kChannelsLast),
                            plain = train(false, kContiguous);
  for (size_t i = 0; i < eager.size(); ++i) {
    CHECK(replayed[i].equal(eager[i]));
    // losses after steps of Adam, which depend on the signs of tiny gradients
    if (i < 3) CHECK(difference(eager[i], plain[i]) < 1e-2);
  }
}

TEST_CASE("optimizers, clipping and state files take channels-last parameters", "[channels_last]") {
  const test::TemporaryFolder folder;
  const auto step = [](nn::Sequential& net, optim::Optimizer& optimizer, const Tensor& x) {
    optimizer.zero_grad();
    net(x).square().mean().backward();
    nn::utils::clip_grad_norm_(net->parameters(), 0.1);
    optimizer.step();
  };
  const Tensor x = randn({4, 3, 14, 14});
  nn::Sequential net = make_net(), last = make_net();
  last->to(kChannelsLast);
  optim::SGD a(net->parameters(), optim::SGDOptions(0.1).momentum(0.9)),
      b(last->parameters(), optim::SGDOptions(0.1).momentum(0.9));
  for (int i = 0; i < 2; ++i) step(net, a, x), step(last, b, x.to(kChannelsLast));
  last->to(kContiguous);  // momentum buffers change their format too
  step(net, a, x), step(last, b, x);
  last->to(kChannelsLast);
  save(last, folder / "net");
  nn::Sequential read = make_net();
  load(read, folder / "net");
  nn::NamedParameters lasts = last->state_dict(), reads = read->state_dict();
  for (const auto& item : net->state_dict()) {
    INFO(item.key());
    const Tensor &ours = lasts[item.key()], &from_file = reads[item.key()];
    CHECK(from_file.is_contiguous());
    CHECK(from_file.equal(ours));
    CHECK(difference(ours.to(kFloat64), item->to(kFloat64)) < 1e-3);
    CHECK(is_last(ours) == (ours.dim() == 4));
  }
}

TEST_CASE("a gradient takes over the strides of its parameter", "[channels_last][autograd]") {
  Tensor w = randn({2, 3, 4, 5}).to(kChannelsLast).requires_grad_();
  (w * randn({2, 3, 4, 5})).sum().backward();
  CHECK(w.grad().strides() == w.strides());
  const Tensor first = w.grad().clone();
  w.mutable_grad().zero_();
  w.sum().backward();
  CHECK(w.grad().strides() == w.strides());
  CHECK(w.grad().equal(ones({2, 3, 4, 5})));
  CHECK(first.strides() == w.strides());
}

TEST_CASE("both kinds of data parallelism take channels-last modules", "[channels_last][parallel]") {
  const Tensor x = randn({6, 3, 14, 14});
  const auto gradients = [](nn::Sequential& net) {
    std::vector<Tensor> out;
    for (const Tensor& p : net->parameters()) {
      CHECK(p.grad().strides() == p.strides());
      out.push_back(p.grad());
    }
    return out;
  };
  const auto data_parallel = [&](MemoryFormat format) {
    const test::Devices devices(3);
    nn::Sequential net = make_net();
    net->to(format);
    nn::parallel::DataParallel dp(net, devices.list);
    const Tensor y = dp(x.to(format));
    CHECK(is_last(y) == (format == MemoryFormat::ChannelsLast));
    y.square().mean().backward();
    return gradients(net);
  };
  const auto distributed = [&](MemoryFormat format) {
    std::vector<Tensor> out;
    run_ranks(2, [&](int rank) {
      tandem::distributed::init_process_group("local");
      nn::Sequential net = make_net();
      net->to(format);
      if (rank == 1) {
        const NoGradGuard guard;
        for (Tensor p : net->parameters()) p.zero_();  // DistributedDataParallel broadcasts them from rank 0
      }
      nn::parallel::DistributedDataParallel ddp(net);
      ddp(x.narrow(0, 3 * rank, 3).to(format)).square().mean().backward();
      if (rank == 0) out = gradients(net);
    });
    return out;
  };
  const auto compare = [](const std::vector<Tensor>& last, const std::vector<Tensor>& plain) {
    REQUIRE(last.size() == plain.size());
    for (size_t i = 0; i < last.size(); ++i) CHECK(difference(last[i], plain[i]) < 1e-3);
  };
  compare(data_parallel(kChannelsLast), data_parallel(kContiguous));
  compare(distributed(kChannelsLast), distributed(kContiguous));
}
