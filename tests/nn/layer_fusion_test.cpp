// Tests that layers which a Sequential fuses give the same bits as the layers run one by one.
#include <cmath>
#include <cstring>

#include "tandem/core/loop/graph.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/nn/fusion_guard.h"

namespace tandem {
namespace {

using test::FusionGuard;

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.sizes() == y.sizes() && x.dtype() == y.dtype() && std::memcmp(x.raw_data(), y.raw_data(), x.nbytes()) == 0;
}
std::string name_of(const Tensor& y) { return y.grad_fn()->name(); }
bool is_fused(const Tensor& y) { return name_of(y) == "batch_norm_relu_max_pool2d" || name_of(y) == "batch_norm_relu"; }

struct Layers {
  nn::BatchNorm2d norm{nullptr};
  nn::Sequential all{nullptr};
  Layers(const nn::BatchNorm2dOptions& o, const nn::MaxPool2dOptions& pool) : norm(o) {
    all = nn::Sequential(nn::Identity(), norm, nn::ReLU(), nn::MaxPool2d(pool));
  }
};
/// Runs one training step and returns the output, the gradients of x, weight and bias, and the buffers afterwards.
std::vector<Tensor> step(bool fused, Layers layers, const Tensor& from, const Tensor& slope) {
  const FusionGuard fusion(fused);
  const Tensor x = from.clone().requires_grad_();
  const Tensor y = layers.all(x);
  CHECK(is_fused(y) == fused);
  CHECK(y.is_contiguous(MemoryFormat::ChannelsLast));
  y.backward(slope);
  std::vector<Tensor> out{y.detach(), x.grad()};
  for (const Tensor& p : layers.norm->parameters()) out.push_back(p.grad());
  for (const Tensor& b : layers.norm->buffers()) out.push_back(b);
  return out;
}

}  // namespace

TEST_CASE("Batch norm, ReLU and max pooling as one give what they give one by one", "[nn][fusion]") {
  manual_seed(7);
  struct Case {
    Shape x;
    int64_t kh, kw;
  };
  const Case cases[] = {{{2, 3, 4, 6}, 2, 2},    {{1, 32, 8, 8}, 2, 2},    {{3, 33, 5, 7}, 2, 2},
                        {{2, 70, 6, 9}, 3, 2},   {{2, 300, 4, 4}, 2, 4},   {{5, 2, 31, 29}, 1, 1},
                        {{4, 16, 64, 65}, 2, 2}, {{1, 4, 10, 10}, 10, 10}, {{64, 32, 28, 28}, 2, 2}};
  for (const Case& c : cases) {
    for (const bool training : {true, false}) {
      for (const bool affine : {true, false}) {
        CAPTURE(c.x, c.kh, c.kw, training, affine);
        const Tensor x = (randn(c.x) * 2 - 0.3).contiguous(MemoryFormat::ChannelsLast);
        const Tensor slope = randn({c.x[0], c.x[1], c.x[2] / c.kh, c.x[3] / c.kw});
        const auto layers = [&] {
          Layers made(nn::BatchNorm2dOptions(c.x[1]).affine(affine), nn::MaxPool2dOptions({c.kh, c.kw}));
          manual_seed(3);
          if (affine) {
            // with a negative weight, the maximum of the output is not at the maximum of x
            made.norm->weight.detach().copy_(randn({c.x[1]}));
            made.norm->bias.detach().copy_(randn({c.x[1]}) * 0.2);
          }
          made.norm->running_mean.copy_(randn({c.x[1]}));
          made.norm->running_var.copy_(rand({c.x[1]}) + 0.5);
          made.all->train(training);
          return made;
        };
        const auto one = step(true, layers(), x, slope), by_one = step(false, layers(), x, slope);
        REQUIRE(one.size() == by_one.size());
        for (size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], by_one[i]));
      }
    }
  }
}

TEST_CASE("Layers as one write gradients past the cache where they are large", "[nn][fusion]") {
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: 13 million elements take long under a sanitizer");
    return;
  }
  manual_seed(8);
  const Tensor some = randn({3, 48, 30, 30}).contiguous(MemoryFormat::ChannelsLast);
  const Tensor x = some.repeat({102, 1, 1, 1}).contiguous(MemoryFormat::ChannelsLast);
  REQUIRE(x.nbytes() >= int64_t(48) << 20);
  const Tensor slope = randn({3, 48, 15, 15}).repeat({102, 1, 1, 1});
  const auto layers = [] { return Layers(nn::BatchNorm2dOptions(48), nn::MaxPool2dOptions(2)); };
  const auto one = step(true, layers(), x, slope), by_one = step(false, layers(), x, slope);
  for (size_t i = 0; i < one.size(); ++i) CHECK(same_bits(one[i], by_one[i]));
}

TEST_CASE("Layers as one treat NaN, infinity, equal and negative zeros alike", "[nn][fusion]") {
  const float nan = std::nanf(""), inf = INFINITY;
  const auto layers = [](bool training) {
    Layers made(nn::BatchNorm2dOptions(2), nn::MaxPool2dOptions(2));
    made.all->train(training);
    return made;
  };
  const auto image = [](const std::vector<float>& values) {
    return tensor(values).view({1, 2, 2, 4}).contiguous(MemoryFormat::ChannelsLast);
  };
  const Tensor slope = tensor({1.0f, -0.0f, 0.0f, nan}).view({1, 2, 1, 2});
  for (const Tensor& x : {image({1, 1, 2, 2, 1, 1, 2, 2, -1, -1, 0, -0.0f, -1, -2, -0.0f, 0}),
                          image({nan, 1, nan, nan, 3, nan, 5, 6, inf, 1, -inf, 2, 3, 4, 5, -inf}),
                          image({0, 0, 0, 0, 0, 0, 0, 0, -0.0f, -0.0f, 0, 0, 0, 0, -0.0f, 0})})
    for (const bool training : {true, false}) {
      const auto one = step(true, layers(training), x, slope), by_one = step(false, layers(training), x, slope);
      for (size_t i = 0; i < one.size(); ++i) {
        CAPTURE(i, training, one[i], by_one[i]);
        CHECK(one[i].isnan().equal(by_one[i].isnan()));
        CHECK(same_bits(one[i].nan_to_num(), by_one[i].nan_to_num()));
      }
    }
}

TEST_CASE("Layers as one have second derivatives, and can be recorded", "[nn][fusion]") {
  manual_seed(9);
  const Tensor from = randn({2, 3, 4, 4}).contiguous(MemoryFormat::ChannelsLast);
  for (const bool training : {true, false}) {
    std::vector<std::vector<Tensor>> found;
    for (const bool fused : {true, false}) {
      const FusionGuard fusion(fused);
      Layers layers(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
      layers.all->train(training);
      const Tensor x = from.clone().requires_grad_();
      const auto& p = layers.norm;
      const auto first = autograd::grad({layers.all(x).square().sum()}, {x, p->weight, p->bias}, {}, std::nullopt,
                                        /*create_graph=*/true);
      const Tensor penalty = first[0].square().sum() + first[1].square().sum() + first[2].square().sum();
      found.push_back(autograd::grad({penalty}, {x, p->weight, p->bias}));
      found.back().insert(found.back().end(), first.begin(), first.end());
    }
    // Tolerance: the same formulas, in another order if the batch statistics are recomputed.
    for (size_t i = 0; i < found[0].size(); ++i) CHECK(found[0][i].allclose(found[1][i], 1e-4, 1e-5));
  }
  Layers eager(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2)),
      captured(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
  const Tensor x = from.clone().requires_grad_(), input = from.clone().requires_grad_();
  Tensor y;
  Graph graph;
  graph.capture([&] {
    input.mutable_grad() = Tensor();
    y = captured.all(input);
    y.sum().backward();
  });
  for (int i = 0; i < 3; ++i) {
    const Tensor batch = randn(from.sizes());
    input.detach().copy_(batch), x.detach().copy_(batch);
    graph.replay();
    x.mutable_grad() = Tensor();
    const Tensor expected = eager.all(x);
    expected.sum().backward();
    CHECK(same_bits(y, expected));
    CHECK(same_bits(input.grad(), x.grad()));
    CHECK(same_bits(captured.norm->running_var, eager.norm->running_var));
  }
}

TEST_CASE("Layers as one: hooks on their inputs run once, also where second derivatives are wanted", "[nn][fusion]") {
  manual_seed(10);
  const Tensor from = randn({2, 3, 4, 4}).contiguous(MemoryFormat::ChannelsLast);
  for (const bool create_graph : {false, true}) {
    std::vector<std::vector<int>> calls;
    std::vector<std::vector<Tensor>> seen;
    for (const bool fused : {false, true}) {
      const FusionGuard fusion(fused);
      Layers layers(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
      const std::vector<Tensor> inputs{from.clone().requires_grad_(), layers.norm->weight, layers.norm->bias};
      std::vector<int>& count = calls.emplace_back(inputs.size());
      std::vector<Tensor>& grads = seen.emplace_back(inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i)
        inputs[i].register_hook([&count, &grads, i](const Tensor& grad) { ++count[i], grads[i] = grad.detach(); });
      const Tensor y = layers.all(inputs[0]);
      CHECK(is_fused(y) == fused);
      autograd::grad({y.square().sum()}, inputs, {}, std::nullopt, create_graph);
    }
    CHECK(calls[0] == std::vector<int>{1, 1, 1});
    CHECK(calls[1] == calls[0]);
    for (size_t i = 0; i < seen[0].size(); ++i) CHECK(seen[1][i].allclose(seen[0][i], 1e-5, 1e-6));
  }
}

TEST_CASE("Layers run one by one where somebody could see between them, or they do not fit", "[nn][fusion]") {
  const FusionGuard fusion(true);
  const Tensor x = randn({2, 3, 6, 6}).contiguous(MemoryFormat::ChannelsLast).requires_grad_();
  const auto given = [&](const nn::MaxPool2dOptions& o) {
    return is_fused(Layers(nn::BatchNorm2dOptions(3), o).all(x));
  };
  CHECK(given(nn::MaxPool2dOptions(2)));
  CHECK(given(nn::MaxPool2dOptions(2).ceil_mode(true)));
  CHECK(given(nn::MaxPool2dOptions(4)));
  CHECK_FALSE(given(nn::MaxPool2dOptions(4).ceil_mode(true)));
  CHECK_FALSE(given(nn::MaxPool2dOptions(3).stride(2)));
  CHECK_FALSE(given(nn::MaxPool2dOptions(2).padding(1)));
  CHECK_FALSE(given(nn::MaxPool2dOptions(2).stride(2).dilation(2)));
  nn::Sequential two(nn::Identity(), nn::BatchNorm2d(3), nn::ReLU(), nn::Identity());
  CHECK(name_of(two(x)) == "batch_norm_relu");
  nn::BatchNorm2d norm(3);
  CHECK(same_bits(nn::Sequential(nn::Identity(), norm, nn::ReLU())(x), relu(norm(x))));
  Layers layers(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
  CHECK_FALSE(is_fused(layers.all(x.contiguous())));
  int calls = 0;
  layers.all->ptr<nn::ReLUImpl>(2)->register_forward_hook(
      [&](nn::Module&, const std::vector<Tensor>&, const std::vector<Tensor>&) { ++calls; });
  CHECK_FALSE(is_fused(layers.all(x)));
  CHECK(calls == 1);
  struct Own : nn::ReLUImpl {};
  nn::Sequential derived(nn::Identity(), nn::BatchNorm2d(3), std::make_shared<Own>(), nn::MaxPool2d(2));
  CHECK_FALSE(is_fused(derived(x)));
  Layers whole(nn::BatchNorm2dOptions(3).momentum(std::nullopt), nn::MaxPool2dOptions(2));
  CHECK_FALSE(is_fused(whole.all(x)));
  Layers wide(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
  wide.all->to(kFloat64);
  CHECK_FALSE(is_fused(wide.all(x.to(kFloat64))));
  CHECK_THROWS_WITH(Layers(nn::BatchNorm2dOptions(4), nn::MaxPool2dOptions(2)).all(x), Contains("batch_norm"));
}

TEST_CASE("Layers as one and one by one say the same of parameters on another device", "[nn][fusion][errors]") {
  const int devices = cpu_device_count();
  set_cpu_device_count(2);
  const Tensor x = randn({2, 3, 4, 4}).contiguous(MemoryFormat::ChannelsLast);
  std::vector<std::string> errors;
  for (const bool fused : {true, false}) {
    const FusionGuard fusion(fused);
    Layers layers(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
    layers.norm->to(Device("cpu:1"));
    try {
      layers.all(x);
    } catch (const Error& error) {
      errors.emplace_back(error.what());
    }
  }
  set_cpu_device_count(devices);
  REQUIRE(errors.size() == 2);
  CHECK(errors[0] == errors[1]);
  CHECK_THAT(errors[0], Contains("batch_norm") && Contains("cpu:1"));
}

TEST_CASE("Layers run one by one on a batch without images", "[nn][fusion]") {
  const FusionGuard fusion(true);
  Layers layers(nn::BatchNorm2dOptions(3), nn::MaxPool2dOptions(2));
  const Tensor x = empty({0, 3, 4, 4}).contiguous(MemoryFormat::ChannelsLast).requires_grad_();
  const Tensor y = layers.all(x);
  CHECK_FALSE(is_fused(y));
  CHECK(y.sizes() == IntArrayRef({0, 3, 2, 2}));
  y.sum().backward();
  CHECK(x.grad().sizes() == x.sizes());
  CHECK(layers.norm->weight.grad().equal(zeros({3})));
  CHECK(layers.norm->running_var.equal(ones({3})));
}

TEST_CASE("Layers as one in anomaly mode: a gradient of NaN is theirs, by name", "[nn][fusion]") {
  const FusionGuard fusion(true);
  const autograd::DetectAnomalyGuard guard;
  Layers layers(nn::BatchNorm2dOptions(2).eps(0), nn::MaxPool2dOptions(2));
  // constant, so the variance is 0
  const Tensor x = ones({1, 2, 2, 2}).contiguous(MemoryFormat::ChannelsLast).requires_grad_();
  const Tensor y = layers.all(x);
  CHECK(is_fused(y));
  CHECK_THROWS_WITH(y.backward(ones({1, 2, 1, 1})),
                    Contains("backward of batch_norm_relu_max_pool2d returned nan values in its 0th output"));
}

}  // namespace tandem
