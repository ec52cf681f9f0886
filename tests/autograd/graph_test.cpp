// Tests what users do with a graph: hooks, several backward calls, gradients of parts of a graph, accumulation.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;

namespace {
Tensor leaf(const NestedList& values) { return tensor(values, kFloat64).requires_grad_(); }
Tensor number(const NestedList& values) { return tensor(values, kFloat64); }
}  // namespace

TEST_CASE("a hook on a tensor sees its gradient, and what it returns replaces it", "[autograd][hooks]") {
  Tensor x = leaf({1.0, 2.0}), h = x * 3;
  Tensor seen;
  const unsigned looks = h.register_hook([&](const Tensor& g) {
    seen = g;
    return Tensor();
  });
  const unsigned doubles = h.register_hook([](const Tensor& g) { return g * 2; });
  const Tensor y = (h * h).sum();  // dy/dh = 2 h = 6 x
  y.backward({}, true);
  CHECK(seen.equal(number({6.0, 12.0})));
  CHECK(x.grad().equal(number({36.0, 72.0})));
  h.remove_hook(doubles);
  h.remove_hook(looks);
  x.zero_grad();
  seen.reset();
  y.backward();
  CHECK_FALSE(seen.defined());
  CHECK(x.grad().equal(number({18.0, 36.0})));
}

TEST_CASE("hooks see a gradient once it is complete, whatever number of uses it adds up", "[autograd][hooks]") {
  Tensor x = leaf({1.0}), h = x * 1;
  std::vector<double> seen;
  h.register_hook([&](const Tensor& g) {
    seen.push_back(g.item<double>());
    return Tensor();
  });
  (h * 2 + h * 3 + h).sum().backward();
  CHECK(seen == std::vector<double>{6});
}

TEST_CASE("hooks of a leaf run before accumulation, and for grad()", "[autograd][hooks]") {
  Tensor x = leaf({2.0});
  const unsigned hook = x.register_hook([](const Tensor& g) { return g * 10; });
  CHECK(autograd::grad({x * 3}, {x})[0].item<double>() == 30);
  (x * 3).backward();
  (x * 3).backward();
  CHECK(x.grad().item<double>() == 60);
  x.remove_hook(hook);
  (x * 3).backward();
  CHECK(x.grad().item<double>() == 63);
}

TEST_CASE("a hook that changes the shape, and one of a tensor without gradient, are errors", "[autograd][hooks]") {
  Tensor x = leaf({1.0, 2.0}), y = x * 2;
  y.register_hook([](const Tensor& g) { return g.sum(); });
  CHECK_THROWS_WITH(y.sum().backward(), Contains("mul") && Contains("(2,)") && Contains("()"));
  CHECK_THROWS_WITH(ones({2}).register_hook([](const Tensor& g) { return g; }), Contains("doesn't require gradient"));
  CHECK_THROWS_WITH(x.remove_hook(7), Contains("no hook at position 7"));
}

TEST_CASE("an exception in a hook reaches the caller, and the next backward works", "[autograd][hooks]") {
  Tensor x = leaf({1.0}), y = x * 2;
  const unsigned hook = y.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("from the hook"); });
  CHECK_THROWS_WITH(y.backward({}, true), "from the hook");
  y.remove_hook(hook);
  y.backward();
  CHECK(x.grad().item<double>() == 2);
}

TEST_CASE("post-hooks of an accumulator run after each accumulation, with the sum", "[autograd][hooks]") {
  Tensor x = leaf({1.0}), other = leaf({1.0});
  const auto accumulator = autograd::grad_accumulator(x);
  CHECK(accumulator == autograd::grad_accumulator(x));  // the accumulator is unique as long as it is referenced
  std::vector<double> sums;
  const unsigned hook = accumulator->add_post_hook([&](const Tensor& v) { sums.push_back(v.grad().item<double>()); });
  (x * 2 * other).backward();
  (x * 3 * other).backward();
  CHECK(sums == std::vector<double>{2, 5});
  accumulator->remove_post_hook(hook);
  (x * 4).backward();
  CHECK(sums.size() == 2);
  CHECK_THROWS_WITH(autograd::grad_accumulator(x * 2), Contains("leaf"));
  CHECK_THROWS_WITH(accumulator->remove_post_hook(5), Contains("no hook at position 5"));
}

TEST_CASE("an accumulator with a slot keeps the gradient in the memory that it was given", "[autograd][hooks]") {
  Tensor x = leaf({1.0, 2.0});
  const Tensor bucket = zeros({4}, kFloat64);
  const auto accumulator = autograd::grad_accumulator(x);
  accumulator->set_grad_buffer(bucket.narrow(0, 1, 2));
  (x * 3).sum().backward();
  (x * 4).sum().backward();
  CHECK(bucket.equal(number({0.0, 7.0, 7.0, 0.0})));
  CHECK(x.grad().raw_data() == bucket.narrow(0, 1, 2).raw_data());
}

TEST_CASE("callbacks run in order when the whole backward is done, those that they queue too", "[autograd][hooks]") {
  Tensor x = leaf({1.0}), h = x * 2;
  std::vector<int> order;
  h.register_hook([&](const Tensor&) {
    for (int i = 0; i < 3; ++i)
      autograd::queue_callback([&order, &x, i] {
        CHECK(x.grad().item<double>() == 6);  // the gradient is complete, although the hook ran before that
        order.push_back(i);
        if (i == 0)
          for (int k = 0; k < 20; ++k) autograd::queue_callback([&order, k] { order.push_back(10 + k); });
        CHECK(order[0] == 0);  // the callback's captures are still alive
      });
    return Tensor();
  });
  (h * 3).backward();
  REQUIRE(order.size() == 23);
  CHECK((order[0] == 0 && order[2] == 2 && order[22] == 29));
  CHECK_THROWS_WITH(autograd::queue_callback([] {}),
                    Contains("Final callbacks can only be installed during backward pass"));
}

TEST_CASE("a second backward needs retain_graph, and the error says so", "[autograd]") {
  Tensor x = leaf({3.0});
  const Tensor y = x * x;
  y.backward({}, /*retain_graph=*/true);
  y.backward();
  CHECK(x.grad().item<double>() == 12);
  CHECK_THROWS_WITH(y.backward(), Contains("mul") && Contains("second time") && Contains("retain_graph"));
  CHECK(x.grad().item<double>() == 12);
  const Tensor linear = x + 1;  // saves nothing, so a second backward works
  linear.backward();
  linear.backward();
  CHECK(x.grad().item<double>() == 14);
  for (const Tensor& unsaved : {-x, x.sign(), x.frac(), x % 2, x.fmod(2)}) {
    x.zero_grad();
    unsaved.backward();
    const double once = x.grad().item<double>();
    unsaved.backward();
    CHECK(x.grad().item<double>() == 2 * once);
  }
}

TEST_CASE("create_graph gives higher derivatives", "[autograd]") {
  Tensor x = leaf({2.0});
  const Tensor y = x * x * x;  // derivatives of x^3 at 2: 12, 12, 6
  const Tensor first = autograd::grad({y}, {x}, {}, {}, /*create_graph=*/true)[0];
  const Tensor second = autograd::grad({first}, {x}, {}, {}, true)[0];
  const Tensor third = autograd::grad({second}, {x})[0];
  CHECK(first.item<double>() == 12);
  CHECK(second.item<double>() == 12);
  CHECK(third.item<double>() == 6);
  CHECK_FALSE(third.requires_grad());
  (x * x * x).backward({}, {}, /*create_graph=*/true);
  CHECK(x.grad().requires_grad());
  const Tensor gradient = x.grad();
  x.zero_grad();
  gradient.backward();
  CHECK(x.grad().item<double>() == 12);
  x.zero_grad();
}

TEST_CASE("backward with inputs touches only these, leaves or not", "[autograd]") {
  Tensor a = leaf({2.0}), b = leaf({5.0}), h = a * b;
  int hooks = 0;
  b.register_hook([&](const Tensor&) {
    ++hooks;
    return Tensor();
  });
  (h * 3).backward({}, {}, false, {a});
  CHECK(a.grad().item<double>() == 15);
  CHECK_FALSE(b.grad().defined());
  CHECK(hooks == 0);
  Tensor k = a * b;
  (k * 3).backward({}, {}, false, {k});
  CHECK(k.grad().item<double>() == 3);
  CHECK(a.grad().item<double>() == 15);
  CHECK_THROWS_WITH((a * b).backward({}, {}, false, {ones({1})}), Contains("input 0"));
}

TEST_CASE("grad returns gradients of any tensor and leaves grad() alone", "[autograd]") {
  Tensor a = leaf({2.0}), b = leaf({5.0}), unused = leaf({1.0}), h = a * b;
  const variable_list g = autograd::grad({h * h}, {a, h});
  CHECK(g[0].item<double>() == 100);  // derivative by a of (a b)^2: 2 a b^2
  CHECK(g[1].item<double>() == 20);
  CHECK_FALSE(a.grad().defined());
  CHECK_THROWS_WITH(autograd::grad({a * b}, {a, unused}), Contains("input 1") && Contains("allow_unused"));
  const variable_list some = autograd::grad({a * b}, {a, unused}, {}, {}, false, /*allow_unused=*/true);
  CHECK(some[0].item<double>() == 5);
  CHECK_FALSE(some[1].defined());
  CHECK_THROWS_WITH(autograd::grad({a * b}, {ones({1})}),
                    Contains("One of the differentiated Tensors does not require grad: input 0"));
  const variable_list both = autograd::grad({a * 2, a * b}, {a}, {number({10.0}), number({100.0})});
  CHECK(both[0].item<double>() == 20 + 500);
}

TEST_CASE("backward says what it cannot start from", "[autograd]") {
  Tensor x = leaf({1.0, 2.0});
  CHECK_THROWS_WITH((x * 2).backward(),
                    Contains("(2,)") && Contains("grad can be implicitly created only for scalar outputs"));
  CHECK_THROWS_WITH((x * 2).backward(ones({3}, kFloat64)), Contains("(3,)") && Contains("(2,)"));
  CHECK_THROWS_WITH(ones({1}).backward(),
                    Contains("element 0 of tensors does not require grad and does not have a grad_fn"));
  CHECK_THROWS_WITH(autograd::backward({x * 2}, {x, x}), Contains("got 1 tensors and 2 gradients"));
  const NoGradGuard guard;
  CHECK_THROWS_WITH((x * 2).sum().backward(), Contains("does not have a grad_fn"));
}

TEST_CASE("nothing is recorded under NoGradGuard, and modes nest", "[autograd]") {
  Tensor x = leaf({1.0});
  {
    const NoGradGuard off;
    CHECK_FALSE((x * 2).requires_grad());
    {
      const EnableGradGuard on;
      CHECK((x * 2).requires_grad());
    }
    CHECK_FALSE(is_grad_enabled());
    x.add_(1);  // allowed for a leaf without grad mode
  }
  CHECK(is_grad_enabled());
  CHECK(x.item<double>() == 2);
}

TEST_CASE("detach shares elements without history; detach_ cuts where it stands", "[autograd]") {
  Tensor x = leaf({2.0}), h = x * 3;
  const Tensor apart = h.detach();
  CHECK_FALSE(apart.requires_grad());
  CHECK(apart.raw_data() == h.raw_data());
  (h * apart).backward();
  CHECK(x.grad().item<double>() == 18);  // 3 * 6, because `apart` is a constant
  Tensor cut = x * 5;
  cut.detach_();
  CHECK((cut.is_leaf() && !cut.requires_grad()));
  cut.requires_grad_();
  (cut * 7).backward();
  CHECK(cut.grad().item<double>() == 7);
  CHECK(x.grad().item<double>() == 18);
  CHECK_THROWS_WITH(x.view({1, 1}).detach_(), Contains("view"));
  CHECK_THROWS_WITH(h.requires_grad_(false), Contains("leaf"));
  CHECK_THROWS_WITH(ones({1}, kInt64).requires_grad_(), Contains("int64") && Contains("floating point"));
}

TEST_CASE("retain_grad keeps the gradient of a result, as its hooks leave it", "[autograd]") {
  Tensor x = leaf({2.0}), h = x * 3;
  h.retain_grad();
  h.register_hook([](const Tensor& g) { return g * 2; });
  const Tensor y = h * 5;
  y.backward({}, true);
  CHECK(h.grad().item<double>() == 10);
  y.backward();
  CHECK(h.grad().item<double>() == 20);
  CHECK(x.grad().item<double>() == 60);
  x.retain_grad();  // no effect: a leaf always keeps its gradient
  CHECK_THROWS_WITH(ones({2}).retain_grad(), Contains("can't retain_grad on Tensor that has requires_grad=False"));
  CHECK_THROWS_WITH((x * 2).detach().retain_grad(),
                    Contains("can't retain_grad on Tensor that has requires_grad=False"));
  Tensor k = x * 3;
  k.retain_grad();
  k.mul_(10);  // afterwards k.grad() is the gradient with respect to the new value of k
  (k * 7).backward();
  CHECK(k.grad().item<double>() == 7);
}

TEST_CASE("gradients add up into what is there, without touching what others hold", "[autograd]") {
  Tensor x = leaf({1.0, 2.0});
  const Tensor seed = number({10.0, 20.0});
  (x * 1).backward(seed);
  CHECK(x.grad().raw_data() != seed.raw_data());
  x.mutable_grad().zero_();
  CHECK(seed.equal(number({10.0, 20.0})));
  x.set_grad(number({100.0, 100.0}));
  (x * 2).backward(seed);
  CHECK(x.grad().equal(number({120.0, 140.0})));
  x.zero_grad(/*set_to_none=*/false);
  CHECK(x.grad().equal(number({0.0, 0.0})));
  Tensor a = leaf({1.0}), b = leaf({1.0});
  (a + b).backward();  // backward passes the same gradient tensor to both
  a.mutable_grad().fill_(9);
  CHECK(b.grad().item<double>() == 1);
}

TEST_CASE("gradients that do not exist stay undefined, on the way and at the end", "[autograd]") {
  Tensor x = leaf({{3.0, 1.0}, {2.0, 5.0}});
  const auto [values, positions] = x.sort(1);
  CHECK_FALSE(positions.requires_grad());
  const std::vector<Tensor> parts = x.unbind(0);
  (parts[1] * 2).sum().backward();  // the other outputs get no gradient
  CHECK(x.grad().equal(number({{0.0, 0.0}, {2.0, 2.0}})));
  Tensor y = leaf({1.0});
  (y.detach() * x.sum()).backward();
  CHECK_FALSE(y.grad().defined());
}

TEST_CASE("parts that were cut together have one node, which fills in what is missing", "[autograd]") {
  Tensor x = leaf({{3.0, 1.0, 4.0}, {2.0, 5.0, 6.0}});
  for (const std::vector<Tensor>& parts : {x.unbind(1), x.split({1, 0, 2}, 1), x.chunk(3, 1)}) {
    // one shared node, so backward does not add up n gradients of x
    CHECK(parts[0].grad_fn() == parts.back().grad_fn());
    x.zero_grad();
    parts.back().square().sum().backward();
    Tensor expected = zeros_like(x);
    const int64_t first = 3 - (parts.back().dim() == 1 ? 1 : parts.back().size(1));
    for (int64_t c = first; c < 3; ++c) expected.select(1, c).copy_(x.detach().select(1, c) * 2);
    CHECK(x.grad().equal(expected));
  }
}

TEST_CASE("an op of the same tensor twice, and a diamond, add up both ways", "[autograd]") {
  Tensor x = leaf({3.0});
  (x * x + x).backward();
  CHECK(x.grad().item<double>() == 7);
  x.zero_grad();
  const Tensor h = x * 2, left = h * h, right = h * 3;
  (left * right).backward();  // 3 (2x)^3, with derivative 72 x^2
  CHECK(x.grad().item<double>() == 72 * 9);
}

TEST_CASE("a backward within a backward works", "[autograd]") {
  struct Inner : autograd::Function<Inner> {
    static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return x * x;
    }
    static variable_list backward(autograd::AutogradContext* ctx, variable_list dy) {
      const EnableGradGuard on;
      const Tensor again = ctx->get_saved_variables()[0].detach().requires_grad_();
      (again * again).backward(dy[0]);
      return {again.grad()};
    }
  };
  Tensor x = leaf({3.0});
  (Inner::apply(x) * 2).backward();
  CHECK(x.grad().item<double>() == 12);
}

TEST_CASE("a leaf that changes its dtype gets gradients of the new one while an old graph lives", "[autograd]") {
  nn::Linear fc(2, 1);
  const Tensor old = fc(ones({1, 2}));  // keeps the gradient accumulators alive
  fc->to(kFloat64);
  fc(ones({1, 2}, kFloat64)).sum().backward();
  CHECK(fc->weight.grad().dtype() == kFloat64);
}

TEST_CASE("a leaf that requires a gradient no longer gets none from a graph made before", "[autograd]") {
  const Tensor x = ones({3}).requires_grad_(), w = full({3}, 2.0).requires_grad_();
  const Tensor y = (x * w).sum();
  x.requires_grad_(false);
  y.backward();
  CHECK_FALSE(x.grad().defined());
  CHECK(w.grad().equal(ones({3})));
}

TEST_CASE("an index of nothing gives the source a gradient of zeros", "[graph]") {
  const Tensor x = ones({5, 0}).requires_grad_(), source = ones({}).requires_grad_();
  x.scatter(1, zeros({0}, kInt64), source).sum().backward();
  CHECK(source.grad().equal(zeros({})));
  const Tensor y = ones({2, 3}).requires_grad_(), rows = ones({4, 3}).requires_grad_();
  y.scatter_add(0, zeros({0, 3}, kInt64), rows).sum().backward();
  CHECK(rows.grad().equal(zeros({4, 3})));
  CHECK(y.grad().equal(ones({2, 3})));
}

TEST_CASE("gradients that are flat in x lead to x all the same, with a derivative of zero, as in PyTorch",
          "[autograd]") {
  using Function = Tensor (*)(const Tensor&);
  for (const Function f :
       {Function([](const Tensor& x) { return leaky_relu(x, 0.1); }), Function([](const Tensor& x) { return relu(x); }),
        Function([](const Tensor& x) { return max_pool2d(x, 2); }),
        Function([](const Tensor& x) { return avg_pool2d(x, 2); }), Function([](const Tensor& x) {
          return adaptive_avg_pool2d(x, {1, 2});
        }),
        Function([](const Tensor& x) {
          return nll_loss(x, zeros({1, 2, 2}, kInt64));
        }),
        Function([](const Tensor& x) {
          return std::get<0>(adaptive_max_pool2d(x, {1, 2}));
        }),
        Function([](const Tensor& x) { return std::get<0>(adaptive_max_pool1d(x[0], 1)); }),
        Function([](const Tensor& x) {
          return tandem::pad(x, {1, 1, 1, 1}, "reflect");
        }),
        Function([](const Tensor& x) {
          return tandem::pad(x, {0, 0, 0, 0}, "replicate");
        }),
        Function([](const Tensor& x) { return x.prod(0); }),
        Function([](const Tensor& x) { return cdist(x, ones_like(x), 0.0); }), Function([](const Tensor& x) {
          return x.scatter_reduce(3, zeros({1, 1, 1, 0}, kInt64), zeros({1, 1, 1, 0}), "prod");
        }),
        Function([](const Tensor& x) {
          return x.scatter_reduce(3, zeros({1, 1, 1, 1}, kInt64), ones({1, 1, 1, 1}), "prod", false);
        })}) {
    const Tensor x = tensor({-0.5, 0.5, 1.5, -2.0}).view({1, 1, 2, 2}).requires_grad_();
    const Tensor dx = autograd::grad({f(x).sum()}, {x}, {}, true, true)[0];
    CHECK(dx.requires_grad());
    CHECK(autograd::grad({dx.sum()}, {x})[0].equal(zeros_like(x)));
  }
}

TEST_CASE("what one kernel gives several gradients of leads to all its inputs, as in PyTorch", "[autograd]") {
  const Tensor x = rand({2, 3, 4, 4}).requires_grad_(), w = rand({5, 3, 3, 3}), b = rand({5}).requires_grad_();
  const Tensor of_conv = autograd::grad({conv2d(x, w, b).sum()}, {b}, {}, true, true)[0];
  CHECK(of_conv.requires_grad());
  CHECK_FALSE(autograd::grad({of_conv.sum()}, {x}, {}, {}, false, true)[0].defined());
  const Tensor weight = ones({3}).requires_grad_(), mean = zeros({3}), var = ones({3});
  const Tensor in_evaluation =
      autograd::grad({batch_norm(x, weight, {}, mean, var, false, 0.1, 1e-5).sum()}, {x}, {}, true, true)[0];
  CHECK(in_evaluation.requires_grad());
  CHECK(autograd::grad({in_evaluation.sum()}, {weight})[0].defined());
  // Only one input requires a gradient. That gradient is recorded, but does not depend on the input.
  using Function = Tensor (*)(const Tensor&);
  for (const auto& [f, input] : {std::pair(Function([](const Tensor& in) {
                                             return conv_transpose1d(in, ones({2, 3, 2}), ones({3}));
                                           }),
                                           ones({1, 2, 4})),
                                 std::pair(Function([](const Tensor& in) {
                                             return conv_transpose2d(ones({1, 2, 4, 4}), in, ones({3}));
                                           }),
                                           ones({2, 3, 2, 2})),
                                 std::pair(Function([](const Tensor& in) {
                                             return conv_transpose3d(in, ones({2, 3, 2, 2, 2}), ones({3}));
                                           }),
                                           ones({1, 2, 3, 3, 3})),
                                 std::pair(Function([](const Tensor& in) {
                                             return layer_norm(rand({2, 3}), {3}, {}, in);
                                           }),
                                           ones({3})),
                                 std::pair(Function([](const Tensor& in) {
                                             return layer_norm(rand({2, 3}), {3}, in);
                                           }),
                                           ones({3})),
                                 std::pair(Function([](const Tensor& in) {
                                             return grid_sampler(in, zeros({1, 2, 2, 2}), 0, 0, false);
                                           }),
                                           ones({1, 1, 3, 3})),
                                 std::pair(Function([](const Tensor& in) {
                                             return grid_sampler(ones({1, 1, 3, 3}), in, 1, 0, false);
                                           }),
                                           zeros({1, 2, 2, 2}))}) {
    const Tensor leaf = input.clone().requires_grad_();
    const Tensor first = autograd::grad({f(leaf).sum()}, {leaf}, {}, true, true)[0];
    CHECK(first.requires_grad());
    CHECK_FALSE(autograd::grad({first.sum()}, {leaf}, {}, {}, false, true)[0].defined());
  }
  for (const bool volume : {false, true}) {  // the bias's gradient stays connected to the images
    const Tensor image = (volume ? ones({1, 3, 2, 2, 2}) : ones({1, 3, 2, 2})).requires_grad_(),
                 c = ones({1}).requires_grad_();
    const Tensor y =
        volume ? conv_transpose3d(image, ones({3, 1, 2, 2, 2}), c) : conv_transpose2d(image, ones({3, 1, 2, 2}), c);
    CHECK(autograd::grad({y.sum()}, {c}, {}, true, true)[0].requires_grad());
  }
}

TEST_CASE("group norm's gradients lead to x, weight and bias where PyTorch's do, with derivatives of zero",
          "[autograd]") {
  const Tensor x = rand({2, 6, 3}).requires_grad_(), w = rand({6}).requires_grad_(), b = rand({6}).requires_grad_();
  const auto first = [](const Tensor& y, const std::vector<Tensor>& inputs) {
    return autograd::grad({(y * y.detach()).sum()}, inputs, {}, true, true);
  };
  const auto of_all = first(group_norm(x, 3, w, b), {x, w, b});
  CHECK(of_all[0].requires_grad());
  CHECK_FALSE(of_all[2].requires_grad());
  const auto second = autograd::grad({of_all[1].sum()}, {x, w, b});
  CHECK(second[0].abs().max().item<float>() > 0);
  CHECK(second[1].equal(zeros({6})));
  CHECK(second[2].equal(zeros({6})));
  const Tensor of_weight = first(group_norm(x.detach(), 3, w, b), {w})[0];
  CHECK(autograd::grad({of_weight.sum()}, {w, b})[0].equal(zeros({6})));
}

TEST_CASE("a power of 0 in place has a gradient without a history, as in PyTorch", "[autograd]") {
  const Tensor x = ones({3}).requires_grad_();
  Tensor y = x * 2;
  y.pow_(0);
  CHECK_FALSE(autograd::grad({y.sum()}, {x}, {}, true, true)[0].requires_grad());
}

TEST_CASE("a factor of 0 keeps the history of the gradient above it", "[autograd]") {
  const Tensor x = ones({2, 2}).requires_grad_(), dy = ones({2, 2}).requires_grad_();
  const Tensor dx = autograd::grad({addmm(x, ones({2, 2}), ones({2, 2}), /*beta=*/0, 1)}, {x}, {dy}, true, true)[0];
  CHECK(dx.equal(zeros({2, 2})));
  CHECK(dx.requires_grad());
}

TEST_CASE("hardswish's second gradient is constant between its kinks", "[autograd]") {
  const Tensor x = tensor({-1.0, 0.5}, kFloat64).requires_grad_();
  const Tensor dx = autograd::grad({hardswish(x).sum()}, {x}, {}, true, true)[0];
  const Tensor ddx = autograd::grad({dx.sum()}, {x}, {}, true, true)[0];
  CHECK(ddx.allclose(full({2}, 1.0 / 3, kFloat64)));
  CHECK_FALSE(ddx.requires_grad());
}

TEST_CASE("second derivatives of transposed convolutions are those of the sum", "[autograd]") {
  // y = x * k for one pixel and a kernel of one element. dy/dk summed is x, so its derivative by x is 1.
  const Tensor x = full({1, 1, 1, 1}, 3.0, kFloat64).requires_grad_(),
               k = full({1, 1, 1, 1}, 5.0, kFloat64).requires_grad_();
  for (const int64_t more : {0, 1}) {  // 1: adds output pixels that contain only the bias
    const Tensor y = conv_transpose2d(x, k, full({1}, 7.0, kFloat64), 1, 0, more, 1, /*dilation=*/2);
    CHECK(y.sizes() == IntArrayRef{1, 1, 1 + more, 1 + more});
    CHECK(y.sum().item<double>() == 15 + 7 * (1 + more) * (1 + more));
    const auto first = autograd::grad({y.sum()}, {x, k}, {}, true, true);
    CHECK(first[0].item<double>() == 5);
    CHECK(first[1].item<double>() == 3);
    CHECK(autograd::grad({first[1].sum()}, {x})[0].item<double>() == 1);
  }
}

TEST_CASE("the second derivative of elu is 0 at its kink, as in PyTorch", "[autograd]") {
  const Tensor x = tensor({-1.0, 0.0, 1.0}, kFloat64).requires_grad_();
  const Tensor dx = autograd::grad({elu(x, 0.5).sum()}, {x}, {}, true, true)[0];
  const Tensor ddx = autograd::grad({dx.sum()}, {x})[0];
  CHECK(ddx.allclose(tensor({0.5 * std::exp(-1.0), 0.0, 0.0}, kFloat64)));
}
