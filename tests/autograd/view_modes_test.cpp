// Tests views made without grad mode, in inference mode and in a custom Function: which of them may later be changed in
// place, as in LibTorch.
#include "tandem/tandem.h"
#include "tandem/tests/autograd/sines.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;
using Catch::Matchers::StartsWith;

namespace {
using Cut = Tensor (*)(const Tensor& x);
/// Every operation that returns a view, applied to a tensor of shape (2, 3).
constexpr std::pair<const char*, Cut> kViews[] = {
    {"view",
     [](const Tensor& x) {
       return x.view({3, 2});
     }},
    {"reshape", [](const Tensor& x) { return x.reshape({6}); }},
    {"alias", [](const Tensor& x) { return x.slice(0); }},
    {"transpose", [](const Tensor& x) { return x.t(); }},
    {"permute",
     [](const Tensor& x) {
       return x.permute({1, 0});
     }},
    {"narrow", [](const Tensor& x) { return x.narrow(1, 0, 2); }},
    {"select", [](const Tensor& x) { return x[1]; }},
    {"slice", [](const Tensor& x) { return x.slice(1, 0, 3, 2); }},
    {"expand",
     [](const Tensor& x) {
       return x.expand({2, 3});
     }},
    {"unsqueeze", [](const Tensor& x) { return x.unsqueeze(0); }},
    {"as_strided", [](const Tensor& x) { return x.as_strided({2}, {1}); }},
    {"diagonal", [](const Tensor& x) { return x.diagonal(); }},
    {"unfold", [](const Tensor& x) { return x.unfold(1, 2, 2); }},
    {"split", [](const Tensor& x) { return x.split(1)[0]; }},
    {"chunk", [](const Tensor& x) { return x.chunk(2)[1]; }},
    {"unbind", [](const Tensor& x) { return x.unbind()[0]; }},
};
Tensor without_grad(Cut cut, const Tensor& x) {
  const NoGradGuard guard;
  return cut(x);
}
Tensor in_inference(Cut cut, const Tensor& x) {
  const InferenceMode guard;
  return cut(x);
}
/// A leaf of shape (2, 3), and a tensor computed from it.
struct Chain {
  Tensor leaf = ones({2, 3}).requires_grad_(), sum = leaf * 1;
};
}  // namespace

TEST_CASE("a view made without grad mode is not changed in place where gradients are recorded", "[autograd][views]") {
  for (const auto& [name, cut] : kViews) {
    INFO(name);
    for (const bool of_leaf : {false, true}) {
      const Chain c;
      const Tensor& x = of_leaf ? c.leaf : c.sum;
      Tensor v = without_grad(cut, x), in_mode = in_inference(cut, x);
      CHECK_THROWS_WITH(v.mul_(2), StartsWith("A view was created in no_grad mode and is being modified inplace"));
      CHECK_THROWS_WITH(v.mul_(ones({}).requires_grad_()),
                        StartsWith("A view was created in no_grad mode and is being"));
      CHECK_THROWS_WITH(in_mode.mul_(2), StartsWith("A view was created in inference mode and is being modified"));
      const Tensor part = v.unsqueeze(0);  // a view of the view, made in grad mode
      CHECK_THROWS_WITH(part.mul_(2), StartsWith("A view was created in no_grad mode"));
      x.sum().backward();
      CHECK(c.leaf.grad().equal(ones({2, 3})));  // the elements are unchanged
    }
  }
}

TEST_CASE("a view made without grad mode requires a gradient as its tensor does, and passes none on",
          "[autograd][views]") {
  for (const auto& [name, cut] : kViews) {
    INFO(name);
    const Chain c;
    const Tensor v = without_grad(cut, c.leaf), w = without_grad(cut, c.sum), plain = without_grad(cut, ones({2, 3}));
    CHECK(v.requires_grad());
    CHECK(v.is_leaf());
    CHECK(v.is_view());
    CHECK(w.requires_grad());
    CHECK_FALSE(plain.requires_grad());
    const Tensor y = (v * 2).sum() + (w * 3).sum();
    CHECK(y.requires_grad());
    y.backward();
    CHECK_FALSE(c.leaf.grad().defined());
    CHECK_FALSE(v.grad().defined());
  }
}

TEST_CASE("such a view may become a leaf of its own", "[autograd][views]") {
  const Chain c;
  const Tensor v = without_grad(kViews[0].second, c.sum);
  v.requires_grad_();
  (v * 2).sum().backward();
  CHECK(v.grad().equal(full({3, 2}, 2.0)));
  CHECK_FALSE(c.leaf.grad().defined());
}

TEST_CASE("a view made without grad mode is not used after a recorded change of its base", "[autograd][views]") {
  const Chain c;
  const Tensor v = without_grad(kViews[0].second, c.sum), in_mode = in_inference(kViews[0].second, c.sum);
  c.sum.mul_(3);
  CHECK_THROWS_WITH(v * 2,
                    StartsWith("A view was created in no_grad mode and its base or another view of its base has"));
  CHECK_THROWS_WITH(in_mode * 2, StartsWith("A view was created in inference mode and its base or another view"));
  CHECK(v.detach().equal(full({3, 2}, 3.0)));  // reading and printing are allowed
  CHECK_THAT(v.str(), Contains("grad_fn=<Invalid>"));
}

TEST_CASE("within the guard, views are changed as before, and operations make new tensors of them",
          "[autograd][views]") {
  const Tensor x = ones({2, 3}).requires_grad_();
  {
    const NoGradGuard guard;
    x.view({6}).mul_(2);
    for (const Tensor& row : x.unbind()) row.add_(1);
  }
  CHECK(x.detach().equal(full({2, 3}, 3.0)));
  // Results of operations that use views internally may be changed in place.
  Tensor y = x.roll(1, 1), z = x.flip({0}), s = x.cumsum(1), m = x.mean(0);
  for (Tensor* t : {&y, &z, &s, &m}) t->mul_(2);
  (y.sum() + z.sum() + s.sum() + m.sum()).backward();
  CHECK(x.grad().allclose(
      // each element is the sum of 2 (roll), 2 (flip), 6, 4 or 2 (cumsum), and 1 (mean)
      tensor({{11.f, 9.f, 7.f}, {11.f, 9.f, 7.f}})));
}

namespace {
/// Returns a view of its input, or the input itself. Its backward is not the backward of the view.
struct Tenfold : autograd::Function<Tenfold> {
  static Tensor forward(autograd::AutogradContext*, const Tensor& x, bool itself) { return itself ? x : x.view({-1}); }
  static variable_list backward(autograd::AutogradContext*, const variable_list& grads) {
    return {grads[0].reshape({2, 3}) * 10, Tensor()};
  }
};
}  // namespace

TEST_CASE("a view that a Function gives is not changed in place, which would go past its backward",
          "[autograd][views]") {
  for (const bool itself : {true, false}) {
    CAPTURE(itself);
    const Chain c;
    const Tensor v = Tenfold::apply(c.sum, itself);
    CHECK(v.is_view());
    CHECK_THROWS_WITH(v.mul_(2), StartsWith("Output of Function is a view and is being modified inplace"));
    CHECK_THROWS_WITH(v[0].mul_(2), StartsWith("Output of Function is a view and is being modified inplace"));
    v.sum().backward();
    CHECK(c.leaf.grad().equal(full({2, 3}, 10.0)));
    const Chain d;
    const Tensor w = Tenfold::apply(d.sum, itself);
    d.sum.mul_(2);
    CHECK_THROWS_WITH(w * 1, StartsWith("Output of Function is a view and its base or another view of its base has"));
  }
}
