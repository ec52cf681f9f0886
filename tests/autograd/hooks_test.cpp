// Tests hooks and errors during backward: a hook may run any code, and an error says where it came from.
#include <thread>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;

TEST_CASE("a hook may remove itself and add others while it runs", "[hooks]") {
  for (const bool leaf : {true, false}) {
    Tensor x = ones({2}).requires_grad_();
    Tensor h = leaf ? x : x * 1;
    int calls = 0;
    unsigned position = 0;
    position = h.register_hook([&](const Tensor& grad) -> Tensor {
      const std::string kept(100, 'k');  // the hook's variables must stay alive after its removal
      h.remove_hook(position);
      for (int i = 0; i < 100; ++i) h.register_hook([&calls](const Tensor&) { ++calls; });
      CHECK(kept.size() == 100);
      ++calls;
      return grad * 2;
    });
    (h * 3).sum().backward({}, true);
    CHECK(x.grad()[0].item<float>() == 6);
    const int after_first = calls;
    (h * 3).sum().backward();
    CHECK(calls == after_first + 100);  // the first hook is gone; the 100 hooks that it added run
  }
}

TEST_CASE("a hook that only looks needs to return nothing", "[hooks]") {
  Tensor x = ones({2}).requires_grad_();
  double seen = 0;
  x.register_hook([&](Tensor grad) { seen = grad.sum().item<double>(); });
  (x * 4).sum().backward();
  CHECK(seen == 8);
}

TEST_CASE("a hook sees what reaches the tensor through results that backward saved, made in place or not", "[hooks]") {
  for (const bool in_place : {false, true}) {
    const Tensor x = tensor({1.0}).requires_grad_();
    Tensor y = x * 1;
    y = in_place ? y.tanh_() : y.tanh();
    int calls = 0;
    y.register_hook([&calls](const Tensor& grad) { return ++calls, grad * 2; });
    const Tensor dx = autograd::grad({y}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];  // 2 (1 - y^2)
    dx.backward();  // 2 (-4 y) (1 - y^2)
    const double value = std::tanh(1.0);
    CHECK(calls == 2);
    CHECK(x.grad().item<double>() == Approx(-8 * value * (1 - value * value)));
  }
}

TEST_CASE("a hook of an accumulator may run a backward that reaches it, and add and remove hooks", "[hooks]") {
  Tensor x = ones({2}).requires_grad_();
  const auto accumulator = autograd::grad_accumulator(x);
  int depth = 0;
  unsigned position = 0;
  position = accumulator->add_post_hook([&](const Tensor& variable) {
    if (++depth > 1) return;
    accumulator->add_post_hook([](const Tensor&) {});
    accumulator->remove_post_hook(position);
    const EnableGradGuard recorded;
    (variable * 2).sum().backward();
  });
  (x * 3).sum().backward();
  CHECK(x.grad()[0].item<float>() == 5);
}

TEST_CASE("a hook that changes the shape of a leaf's gradient is an error", "[hooks]") {
  Tensor x = ones({2}).requires_grad_();
  x.register_hook([](const Tensor&) { return ones({3}); });
  CHECK_THROWS_WITH((x * 3).sum().backward(), Contains("(3,)") && Contains("(2,)"));
}

TEST_CASE("a gradient of a wrong shape names the function that returned it", "[function]") {
  struct Wrong : autograd::Function<Wrong> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 1; }
    static variable_list backward(autograd::AutogradContext*, variable_list) { return {ones({3, 4})}; }
  };
  Tensor x = ones({2, 4}).requires_grad_();
  CHECK_THROWS_WITH(Wrong::apply(x).sum().backward(),
                    Contains("backward of") && Contains("(3, 4)") && Contains("(2, 4)"));
}

TEST_CASE("an error in a backward keeps its type and gains the name of the operation", "[engine]") {
  set_cpu_device_count(2);
  struct Fails : autograd::Function<Fails> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 1; }
    static variable_list backward(autograd::AutogradContext*, variable_list grads) {
      return {grads[0].narrow(0, 5, 5)};
    }
  };
  Tensor x = ones({2}).requires_grad_();
  CHECK_THROWS_AS(Fails::apply(x).sum().backward(), IndexError);
  CHECK_THROWS_WITH(Fails::apply(x).sum().backward(), Contains("backward of CustomFunction") && Contains("narrow"));
  // An error on a backward thread of another device is reported too, and the next backward works.
  CHECK_THROWS_AS(Fails::apply(x.to("cpu:1")).to("cpu").sum().backward(), IndexError);
  x.zero_grad();
  (x.to("cpu:1") * 2).to("cpu").sum().backward();
  CHECK(x.grad()[0].item<float>() == 2);
  set_cpu_device_count(1);
}

TEST_CASE("second derivatives over two devices are the same every time", "[engine][devices]") {
  set_cpu_device_count(2);
  manual_seed(5);
  const Tensor start = randn({64});
  const auto second = [&] {
    Tensor x = start.clone().requires_grad_();
    Tensor y = x;
    std::vector<Tensor> parts;
    for (int i = 0; i < 6; ++i) parts.push_back((y.to(i % 2 ? "cpu:1" : "cpu") * (0.1 + i)).sin().exp().to("cpu"));
    Tensor total = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) total = total * parts[i] + parts[i];
    const Tensor g = autograd::grad({total.sum()}, {x}, {}, true, true)[0];
    g.square().sum().backward();
    return x.grad();
  };
  const Tensor first = second();
  for (int i = 0; i < 20; ++i) CHECK(second().equal(first));
  set_cpu_device_count(1);
}

TEST_CASE("threads that run backward on graphs over one leaf lose no gradient", "[engine][threads]") {
  Tensor x = zeros({1000}).requires_grad_();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) (x + 1).sum().backward();
    });
  for (std::thread& t : threads) t.join();
  CHECK(x.grad().equal(full({1000}, 200.0)));
}

TEST_CASE(
    "grad() returns what hooks made, but of a tensor on the way to another input what came to them, as in PyTorch",
    "[autograd][hooks]") {
  const Tensor x = ones({2}).requires_grad_();
  const auto graph = [&] {
    const Tensor y = x * 3;
    y.register_hook([](const Tensor& dy) { return dy * 2; });
    return std::pair(y, y.sum());
  };
  const auto [end, total] = graph();
  CHECK(autograd::grad({total}, {end})[0].equal(full({2}, 2.0)));
  const auto [middle, again] = graph();
  const auto both = autograd::grad({again}, {middle, x});
  CHECK(both[0].equal(ones({2})));
  CHECK(both[1].equal(full({2}, 6.0)));
}
