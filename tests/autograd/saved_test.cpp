// Tests tensors saved for backward: saved-tensor hooks, checkpoints, and backward calls that skip unneeded gradients.
#include "tandem/tandem.h"
#include "tandem/tests/autograd/sines.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;
using autograd::graph::saved_tensors_hooks;
using test::sines;

TEST_CASE("saved tensors go through the hooks, and gradients stay", "[autograd][saved]") {
  const Tensor x = sines({4}), w = sines({4}, 1);
  const auto loss = [&] { return (x * w).exp().sum(); };
  loss().backward();
  const Tensor want_x = x.grad(), want_w = w.grad();
  x.mutable_grad().reset(), w.mutable_grad().reset();
  int packed = 0, unpacked = 0;
  Tensor y;
  {
    const saved_tensors_hooks guard(
        [&](const Tensor& t) {
          ++packed;
          CHECK_FALSE(t.requires_grad());
          CHECK_FALSE(is_grad_enabled());
          return std::make_pair(t.numel(), t.clone());
        },
        [&](const std::pair<int64_t, Tensor>& p) {
          ++unpacked;
          return p.second;
        });
    y = loss();
  }
  const Tensor outside = (x * w).sum();  // recorded after the hooks were removed
  CHECK(packed == 3);                    // both factors of the product, and the output of exp
  CHECK(unpacked == 0);
  y.backward();
  CHECK(unpacked == 3);
  CHECK(x.grad().equal(want_x));
  CHECK(w.grad().equal(want_w));
}

TEST_CASE("second derivatives pass through saved tensors that hooks kept", "[autograd][saved]") {
  const auto f = [](const variable_list& in) -> variable_list {
    const saved_tensors_hooks guard([](const Tensor& t) { return t.clone(); }, [](const Tensor& t) { return t; });
    return {(in[0] * in[1]).sigmoid() * in[0]};
  };
  CHECK(autograd::gradcheck(f, {sines({3}), sines({3}, 1)}));
  CHECK(autograd::gradgradcheck(f, {sines({3}), sines({3}, 1)}));
}

TEST_CASE("of several pairs of hooks the innermost counts, and it may change what it keeps", "[autograd][saved]") {
  const Tensor x = sines({3});
  const saved_tensors_hooks outer([](const Tensor& t) { return t; }, [](const Tensor&) { return Tensor(); });
  Tensor y;
  {
    const saved_tensors_hooks inner([](const Tensor& t) { return t; }, [](const Tensor& t) { return t * 10; });
    y = x.exp().sum();
  }
  y.backward();
  CHECK(x.grad().allclose(x.detach().exp() * 10));
  CHECK_THROWS_WITH(x.exp().sum().backward(), Contains("exp") && Contains("undefined"));
}

TEST_CASE("what is saved lies on the host under save_on_cpu", "[autograd][saved]") {
  for (const bool pinned : {false, true}) {
    const Device device = cuda::is_available() ? Device("cuda:0") : Device("cpu");
    const Tensor x = sines({4}).detach().to(device).requires_grad_();
    Tensor y;
    {
      const autograd::graph::save_on_cpu guard(pinned);
      y = (x * x).sum();
    }
    y.backward();
    CHECK(x.grad().equal(x.detach() * 2));
  }
}

namespace {

/// A function with dropout that counts its calls.
struct Block {
  Tensor w = sines({6, 6});
  std::shared_ptr<int> runs = std::make_shared<int>(0);
  Tensor operator()(const Tensor& x, double p) const {
    ++*runs;
    return dropout(x.matmul(w).tanh(), p, /*train=*/true) * x;
  }
};

}  // namespace

TEST_CASE("a checkpoint gives the gradients of a plain call, with the same dropout", "[autograd][checkpoint]") {
  const Block f;
  const Tensor x = sines({5, 6});
  const auto run = [&](bool checkpointed) {
    manual_seed(3);
    x.mutable_grad().reset(), f.w.mutable_grad().reset();
    *f.runs = 0;
    const Tensor h = x * 2;
    const Tensor y = checkpointed ? nn::utils::checkpoint(f, h, 0.5) : f(h, 0.5);
    const Tensor between = rand({3});  // recomputation in backward must not change the generator's state
    y.square().sum().backward();
    return variable_list{y.detach(), x.grad(), f.w.grad(), between, rand({3})};
  };
  const variable_list want = run(false);
  CHECK(*f.runs == 1);
  const variable_list got = run(true);
  CHECK(*f.runs == 2);
  for (size_t i = 0; i < want.size(); ++i) CHECK(got[i].equal(want[i]));
}

TEST_CASE("a checkpoint keeps a generator that a guard names", "[autograd][checkpoint]") {
  const Block f;
  const Tensor x = sines({5, 6});
  variable_list grads;
  for (const bool checkpointed : {false, true}) {
    Tensor y;
    {
      Generator own(9);
      const GeneratorGuard guard(own);
      y = checkpointed ? nn::utils::checkpoint(f, x, 0.5) : f(x, 0.5);
    }
    const Tensor before = rand({2});
    manual_seed(1);
    y.sum().backward();
    const Tensor after = rand({2});
    manual_seed(1);
    CHECK(rand({2}).equal(after));
    grads.push_back(x.grad().clone());
    x.mutable_grad().reset();
  }
  CHECK(grads[0].equal(grads[1]));
}

TEST_CASE("a checkpoint keeps its inputs only, and lets go of what it computed again", "[autograd][checkpoint]") {
  const Tensor x = sines({4});
  std::weak_ptr<int> alive;
  Tensor y;
  {
    const auto token = std::make_shared<int>();
    alive = token;
    y = nn::utils::checkpoint([token](const Tensor& t) { return t.exp().exp().sum(); }, x);
  }
  CHECK_FALSE(alive.expired());
  y.backward();
  CHECK(alive.expired());  // backward released the function together with the saved tensors
  CHECK(x.grad().allclose((x.detach() + x.detach().exp()).exp()));
}

TEST_CASE("checkpoints within checkpoints, second derivatives and retained graphs work", "[autograd][checkpoint]") {
  const Tensor w = sines({3}, 1);
  int outer = 0, inner = 0;
  const auto f = [&](const variable_list& in) -> variable_list {
    const auto part = [&](const Tensor& x) {
      ++outer;
      const Tensor h = x.sin() * w;
      return nn::utils::checkpoint(
                 [&](const Tensor& t, const Tensor& u) {
                   ++inner;
                   return (t * u).exp();
                 },
                 h, x) *
             h;
    };
    return {nn::utils::checkpoint(part, in[0])};
  };
  CHECK(autograd::gradcheck(f, {sines({3})}));
  CHECK(autograd::gradgradcheck(f, {sines({3})}));
  const Tensor x = sines({3}), y = f({x})[0].sum();
  outer = inner = 0;
  y.backward({}, /*retain_graph=*/true);
  CHECK(outer == 1);
  const Tensor first = x.grad().clone();
  y.backward();
  CHECK(outer == 2);
  CHECK(x.grad().allclose(first * 2));
  const Tensor z = f({x})[0].sum(), plain = ((x.sin() * w) * x).exp() * (x.sin() * w);
  CHECK(autograd::grad({z}, {x})[0].allclose(autograd::grad({plain.sum()}, {x})[0]));
}

TEST_CASE("a checkpoint refuses a function that does something else the second time", "[autograd][checkpoint]") {
  const Tensor x = sines({4});
  int runs = 0;
  const Tensor shape = nn::utils::checkpoint(
      [&](const Tensor& t) { return ++runs == 1 ? t.exp().sum() : t.narrow(0, 0, 2).exp().sum(); }, x);
  CHECK_THROWS_WITH(shape.backward(), Contains("checkpoint") && Contains("(2,)") && Contains("(4,)"));
  runs = 0;
  const Tensor more =
      nn::utils::checkpoint([&](const Tensor& t) { return ++runs == 1 ? t.exp().sum() : t.exp().exp().sum(); }, x);
  CHECK_THROWS_WITH(more.backward(),
                    Contains("saved during forward: 1. ") && Contains("saved during recomputation: 2. "));
  Tensor h = x * 1;
  const Tensor changed = nn::utils::checkpoint([](const Tensor& t) { return t.exp().sum(); }, h);
  h.add_(1);
  CHECK_THROWS_WITH(changed.backward(), Contains("checkpoint") && Contains("version 1"));
}

TEST_CASE("a checkpoint without its random numbers draws others", "[autograd][checkpoint]") {
  const Tensor x = sines({200});
  manual_seed(2);
  const auto options = nn::utils::CheckpointOptions().preserve_rng_state(false);
  const Tensor y = nn::utils::checkpoint(
      options, [](const Tensor& t) { return dropout(t, 0.5, true); }, x);
  y.sum().backward();
  CHECK_FALSE((y.detach() / x.detach()).allclose(x.grad()));
}

TEST_CASE("a backward to some inputs does not compute the other gradients", "[autograd][saved]") {
  struct Asked : autograd::Function<Asked> {
    static std::vector<bool>& seen() {
      static std::vector<bool> list;
      return list;
    }
    static Tensor forward(autograd::AutogradContext*, const Tensor& a, double, const Tensor& b) { return a + b; }
    static variable_list backward(autograd::AutogradContext* ctx, variable_list dy) {
      seen() = {ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad({{0, 2}}),
                ctx->needs_input_grad({{1, 2}})};
      return {dy[0], Tensor(), dy[0]};
    }
  };
  const Tensor a = sines({3}), b = sines({3}, 1), c = b * 2, y = Asked::apply(a, 1.0, c).sum();
  autograd::grad({y}, {a}, {}, true);
  CHECK(Asked::seen() == std::vector<bool>{true, false, true, false});
  autograd::grad({y}, {b}, {}, true);
  CHECK(Asked::seen() == std::vector<bool>{false, true, true, true});
  y.backward({}, true, false, {a});
  CHECK(Asked::seen() == std::vector<bool>{true, false, true, false});
  y.backward();
  CHECK(Asked::seen() == std::vector<bool>{true, true, true, true});

  // A product's backward unpacks only the factor needed for the requested gradient.
  const Tensor p = sines({3}), q = sines({3}, 1);
  int read = 0;
  Tensor z;
  {
    const saved_tensors_hooks guard([](const Tensor& t) { return t; },
                                    [&](const Tensor& t) {
                                      ++read;
                                      return t;
                                    });
    z = (p * q).sum();
  }
  CHECK(autograd::grad({z}, {p})[0].equal(q));
  CHECK(read == 1);
}

TEST_CASE("checkpoints, hooks and anomaly mode hold for the workers of a graph over two devices",
          "[autograd][devices]") {
  set_cpu_device_count(2);
  const Device there("cpu:1");
  const Tensor x = sines({6});
  const auto run = [&](bool checkpointed) {
    manual_seed(8);
    const auto here = [&](const Tensor& t) { return dropout(t.sin(), 0.5, true).to(there).exp() * t.to(there); };
    const auto away = [](const Tensor& t) { return dropout(t * t, 0.5, true).cos(); };
    const Tensor y = checkpointed ? nn::utils::checkpoint(here, x * 2) : here(x * 2);
    const Tensor z = checkpointed ? nn::utils::checkpoint(away, y) : away(y);
    return autograd::grad({z.sum().to(kCPU) + (x * x).sum()}, {x})[0];
  };
  CHECK(run(true).equal(run(false)));

  const autograd::DetectAnomalyGuard guard;
  const Tensor zero = zeros({2}, kFloat64).requires_grad_();
  const Tensor bad = (zero.to(there).sqrt() * 0).sum().to(kCPU) + zero.sum();
  CHECK_THROWS_WITH(bad.backward(), Contains("backward of sqrt returned nan values"));
  set_cpu_device_count(1);
}
