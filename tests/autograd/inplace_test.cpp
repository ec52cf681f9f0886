// Tests in-place operations: their gradients equal those of the out-of-place formula, and tensors that must not change
// are protected.
#include "tandem/tandem.h"
#include "tandem/tests/autograd/sines.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::variable_list;
using test::sines;

namespace {
using Formula = std::function<Tensor(const Tensor& x, const Tensor& w)>;
/// Checks that both formulas give the same values and, for uneven upstream gradients, the same gradients. Checks first
/// and
/// second derivatives of the in-place formula by finite differences.
void same(const Formula& in_place, const Formula& out_of_place) {
  const Tensor x = sines({3, 4}), w = sines({3, 4}, 2);
  const Tensor a = in_place(x, w), b = out_of_place(x, w);
  REQUIRE(a.sizes() == b.sizes());
  CHECK(a.allclose(b, 1e-14, 1e-14));
  const Tensor seed = arange(a.numel(), kFloat64).cos().view(a.sizes());
  const variable_list one = autograd::grad({a}, {x, w}, {seed}, {}, false, true);
  const variable_list two = autograd::grad({b}, {x, w}, {seed}, {}, false, true);
  for (size_t i = 0; i < 2; ++i) {
    CAPTURE(i);
    const auto dense = [&](const Tensor& g) { return g.defined() ? g : zeros({3, 4}, kFloat64); };
    CHECK(dense(one[i]).allclose(dense(two[i]), 1e-13, 1e-13));  // tolerance: another order of a few float64 sums
  }
  const auto f = [&](const variable_list& in) -> variable_list { return {in_place(in[0], in[1])}; };
  CHECK(autograd::gradcheck(f, {x, w}));
  CHECK(autograd::gradgradcheck(f, {x, w}));
}
}  // namespace

TEST_CASE("in-place arithmetic has the gradients of the formula", "[autograd][inplace]") {
  same(
      [](const Tensor& x, const Tensor& w) {
        Tensor h = x * 2;
        h.add_(w).mul_(w).sub_(x, 3).div_(w);
        h += x;
        h.exp_().neg_();
        return h.sigmoid_();
      },
      [](const Tensor& x, const Tensor& w) { return (((x * 2 + w) * w - x * 3) / w + x).exp().neg().sigmoid(); });
}

TEST_CASE("a change of a view reaches its base, with gradients", "[autograd][inplace]") {
  same(
      [](const Tensor& x, const Tensor& w) {
        Tensor h = x * 2;
        h.select(0, 1).mul_(w.select(0, 2));
        return h;
      },
      [](const Tensor& x, const Tensor& w) {
        const Tensor h = x * 2;
        return cat({h.narrow(0, 0, 1), (h.select(0, 1) * w.select(0, 2)).unsqueeze(0), h.narrow(0, 2, 1)});
      });
}

TEST_CASE("a change of the base reaches views made before", "[autograd][inplace]") {
  same(
      [](const Tensor& x, const Tensor& w) {
        Tensor h = x * 1, row = h[1], column = h.select(1, 2);
        h.mul_(w);
        row.mul_(2);
        return column * 3;
      },
      [](const Tensor& x, const Tensor& w) {
        const Tensor h = x * w;
        return cat({h[0][2].view({1}), h[1][2].view({1}) * 2, h[2][2].view({1})}) * 3;
      });
}

TEST_CASE("views of views, transposed and strided, write through", "[autograd][inplace]") {
  same(
      [](const Tensor& x, const Tensor& w) {
        Tensor h = x.clone();
        Tensor part = h.t().slice(0, 0, 4, 2).narrow(1, 1, 2);  // columns 0 and 2 of rows 1 and 2
        part.copy_(w.t().narrow(0, 0, 2).narrow(1, 0, 2));
        part.mul_(3);
        return h * w;
      },
      [](const Tensor& x, const Tensor& w) {
        const Tensor s = w.t().narrow(0, 0, 2).narrow(1, 0, 2), p = s * 3;
        const Tensor mask = tensor({{0.0, 0.0, 0.0, 0.0}, {1.0, 0.0, 1.0, 0.0}, {1.0, 0.0, 1.0, 0.0}}, kFloat64);
        const Tensor at = cat({zeros({1, 2}, kFloat64), p.t()});
        const Tensor zero = zeros({3, 1}, kFloat64);
        const Tensor spread = cat({at.narrow(1, 0, 1), zero, at.narrow(1, 1, 1), zero}, 1);
        return (x * (mask * -1 + 1) + spread) * w;
      });
}

TEST_CASE("a base without gradient gets a history from what is written into it", "[autograd][inplace]") {
  same(
      [](const Tensor& x, const Tensor& w) {
        Tensor table = zeros({5, 4}, kFloat64);
        table.narrow(0, 1, 3).copy_(x);
        table[4].copy_(w[0]);
        return table * table;
      },
      [](const Tensor& x, const Tensor& w) {
        const Tensor table = cat({zeros({1, 4}, kFloat64), x, w.narrow(0, 0, 1)});
        return table * table;
      });
}

TEST_CASE("the base may itself lie in part of a larger storage, in any order", "[autograd][inplace]") {
  const auto base_of = [](const Tensor& x, bool transposed) {
    Tensor large = zeros({7, 9}, kFloat64);
    Tensor base = transposed ? large.narrow(0, 2, 4).narrow(1, 3, 3).t().detach() : large.narrow(0, 1, 3).detach();
    base = transposed ? base : base.narrow(1, 4, 4).detach();  // (3, 4), not contiguous, not a view
    base.copy_(x);
    return base;
  };
  for (const bool transposed : {true, false}) {
    CAPTURE(transposed);
    same(
        [&](const Tensor& x, const Tensor& w) {
          Tensor base = base_of(x, transposed);
          base[1].mul_(w[2]);
          return base * 2;
        },
        [&](const Tensor& x, const Tensor& w) {
          return cat({x.narrow(0, 0, 1), (x[1] * w[2]).unsqueeze(0), x.narrow(0, 2, 1)}) * 2;
        });
  }
}

TEST_CASE("as_strided of a tensor that is not contiguous has a gradient", "[autograd][inplace]") {
  const auto f = [](const variable_list& in) -> variable_list {
    const Tensor t = in[0].t().clone().t() * 1;  // (3, 4)
    return {in[0].t().as_strided({2, 2, 3}, {1, 2, 3}, 1).square(), t.as_strided({2, 2}, {1, 1}).exp()};
  };
  CHECK(autograd::gradcheck(f, {sines({3, 4})}));
  CHECK(autograd::gradgradcheck(f, {sines({3, 4})}));
}

TEST_CASE("masks, clamps, fills and constants in place", "[autograd][inplace]") {
  const Tensor mask = (arange(12).view({3, 4}) % 3).eq(0);
  same(
      [&](const Tensor& x, const Tensor& w) {
        Tensor h = x * w, rest = x + w;
        h.masked_fill_(mask, 0.5).clamp_(-1.5, 1.5);
        rest[0].fill_(3);
        rest[2].zero_();
        return h.tanh_() * rest;
      },
      [&](const Tensor& x, const Tensor& w) {
        const Tensor keep = cat({zeros({1, 4}, kFloat64), ones({1, 4}, kFloat64), zeros({1, 4}, kFloat64)});
        const Tensor three = cat({full({1, 4}, 3.0, kFloat64), zeros({2, 4}, kFloat64)});
        return (x * w).masked_fill(mask, 0.5).clamp(-1.5, 1.5).tanh() * ((x + w) * keep + three);
      });
}

TEST_CASE("what is written over gets a gradient of zeros", "[autograd][inplace]") {
  const Tensor source = ones({2}, kFloat64).requires_grad_();
  const std::function<void(Tensor)> all[] = {[](Tensor h) { h.copy_(ones({2}, kFloat64)); },
                                             [&](Tensor h) { h.copy_(source); },
                                             [](Tensor h) { h.fill_(1); },
                                             [](Tensor h) { h.fill_(tensor(2.0, kFloat64)); },
                                             [](Tensor h) { h.zero_(); },
                                             [](Tensor h) { h.uniform_(); },
                                             [](Tensor h) { h.normal_(); },
                                             [](Tensor h) { h.bernoulli_(); },
                                             [](Tensor h) { h.random_(0, 3); },
                                             [](Tensor h) { h.slice(0).fill_(1); },
                                             [](Tensor h) { h.masked_fill_(h == h, 0); }};
  for (const auto& overwrite : all) {
    CAPTURE(&overwrite - all);
    const Tensor x = tensor({1.0, 2.0}, kFloat64).requires_grad_();
    Tensor h = x * 2;
    overwrite(h);
    h.sum().backward();
    REQUIRE(x.grad().defined());
    CHECK(x.grad().equal(zeros({2}, kFloat64)));
    x.zero_grad();
  }
  CHECK(source.grad().equal(ones({2}, kFloat64)));
  Tensor whole = tensor({3, 4});
  whole.copy_(source);  // integer tensors are not recorded by autograd
  CHECK_FALSE(whole.requires_grad());
  CHECK(whole.equal(tensor({1, 1})));
}

TEST_CASE("a leaf that requires a gradient, and a view of one, cannot be changed in place", "[autograd][inplace]") {
  Tensor x = ones({2, 3}).requires_grad_();
  CHECK_THROWS_WITH(x.add_(1), Contains("add_") && Contains("leaf") && Contains("(2, 3)") && Contains("NoGradGuard"));
  CHECK_THROWS_WITH(x[0].zero_(), Contains("zero_") && Contains("view of a leaf"));
  CHECK(x.equal(ones({2, 3})));
  {
    const NoGradGuard guard;
    x.add_(1);
    x[0].zero_();
  }
  CHECK(x.sum().item<double>() == 6);
  CHECK(x.is_leaf());
}

TEST_CASE("a tensor that holds an element more than once cannot be written to", "[autograd][inplace]") {
  Tensor x = ones({1}).expand({3});
  CHECK_THROWS_WITH(x.add_(1), Contains("add_") && Contains("(3,)") && Contains("clone"));
  CHECK_THROWS_WITH(x.copy_(zeros({3})), Contains("copy_"));
  CHECK(x[0].item<double>() == 1);
}

TEST_CASE("in-place operations keep shape and kind", "[autograd][inplace]") {
  Tensor x = ones({3}), n = ones({3}, kInt64);
  CHECK_THROWS_WITH(x.add_(ones({2, 3})), Contains("add_") && Contains("(3,)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(n.add_(1.5), Contains("int64") && Contains("1.5"));
  CHECK_THROWS_WITH(n.mul_(ones({3})), Contains("mul_") && Contains("int64"));
  n.add_(2);
  CHECK(n.equal(full({3}, 3, kInt64)));
  x.add_(ones({3}, kFloat64));
  CHECK(x.dtype() == kFloat32);
}

TEST_CASE("a saved tensor that was changed since is an error with op, shape and versions", "[autograd][saved]") {
  Tensor x = ones({2, 3}).requires_grad_();
// matchers keep references, so this is a macro
#define MESSAGE Contains("(2, 3)") && Contains("version 1") && Contains("version 0")
  Tensor h = x * 1;
  Tensor y = h * h;
  h.add_(1);
  CHECK_THROWS_WITH(y.sum().backward(), Contains("mul") && MESSAGE);
  h = x * 1;
  y = h.exp();  // saves its output
  y.mul_(2);
  CHECK_THROWS_WITH(y.sum().backward(), Contains("exp") && MESSAGE);
  h = x * 1;
  y = matmul(h, ones({3, 2}).requires_grad_());
  h[0].zero_();  // through a view
  CHECK_THROWS_WITH(y.sum().backward(), Contains("mm") && MESSAGE);
  h = x * 1;
  y = h.square();
  h.detach().fill_(7);  // through a detached tensor
  CHECK_THROWS_WITH(y.sum().backward(), MESSAGE);
  h = x * 1;
  y = h.square();
  h.data().add_(1);  // data() bypasses the version check
  y.sum().backward();
  CHECK(x.grad().equal(full({2, 3}, 4.0)));
  h = x * 1;
  y = h + 1;  // saves nothing
  h.zero_();
  y.sum().backward();
#undef MESSAGE
}

TEST_CASE("parts that were cut together are not changed in place where gradients are recorded", "[inplace]") {
  const auto parts_of = [](const Tensor& x, int how) {
    return how == 0 ? x.split(2) : how == 1 ? x.chunk(2) : how == 2 ? x.unbind() : x.split({1, 3});
  };
  const char* const names[] = {"split", "chunk", "unbind", "split"};
  for (int how = 0; how < 4; ++how) {
    const Tensor leaf = ones({4}).requires_grad_();
    Tensor y = leaf * 1;
    std::vector<Tensor> parts = parts_of(y, how);
    const std::string refused = std::string("Output of ") + names[how] + " is a view and is being modified inplace";
    CHECK_THROWS_WITH(parts[0].add_(1), Contains("add_") && Contains(refused));
    CHECK_THROWS_WITH(parts[0].view({-1}).add_(1), Contains(refused));  // a view of such an output is protected too
    CHECK_THROWS_WITH(parts_of(leaf, how)[0].add_(1), Contains(refused));
    const Tensor plain = ones({4});
    parts_of(plain, how)[0].add_(1);  // allowed, because no gradient is required
    CHECK(plain[0].item<float>() == 2);
    CHECK_THROWS_WITH(parts_of(plain, how)[0].add_(leaf[0]), Contains(refused));
    y.add_(1);  // makes the outputs' recorded history stale
    CHECK_THROWS_WITH(parts[0].sum(), Contains(names[how]) && Contains("again after the change"));
    parts = parts_of(y, how);
    parts[0].sum().backward();
    CHECK(leaf.grad()[0].item<float>() == 1);
  }
}

TEST_CASE("a quotient may be changed in place before its backward", "[autograd][inplace][saved]") {
  const Tensor x = tensor({1.0, 2.0, 4.0}).requires_grad_();
  Tensor y = 8 / x;
  y.square().sum().backward();  // 64 / x^2, with derivative -128 / x^3
  CHECK(x.grad().equal(tensor({-128.0, -16.0, -2.0})));
  x.zero_grad();
  y = 8 / x;
  y.mul_(2);
  y.sum().backward();  // 16 / x, with derivative -16 / x^2
  CHECK(x.grad().equal(tensor({-16.0, -4.0, -1.0})));
}

TEST_CASE("what is assigned to a part is written to the whole", "[autograd][inplace]") {
  Tensor x = zeros({2, 3});
  const Tensor other = x;
  x[0] = ones({3});
  x[1][2] = 5;
  x.index({1, 0}) = full({}, 7);
  CHECK(equal(x, tensor({{1., 1., 1.}, {7., 0., 5.}}, kFloat32)));
  CHECK(other.is_same(x));
  x.index({indexing::Slice(), indexing::Slice(1, 3)}) = 2.5;
  CHECK(equal(x, tensor({{1., 2.5, 2.5}, {7., 2.5, 2.5}}, kFloat32)));
  Tensor counts = arange(4);
  counts[0] = 9.9;  // converted to int64
  CHECK(equal(counts, tensor({9, 1, 2, 3})));
  CHECK_THROWS_WITH(x[0] = ones({4}), Catch::Matchers::Contains("copy_"));
  // Assigning to a variable rebinds the variable.
  Tensor y = ones({3});
  y = x[0];
  CHECK(y.is_alias_of(x));
  y = {};
  CHECK(!y.defined());
}

TEST_CASE("a part that is assigned to has the gradients of the formula", "[autograd][inplace]") {
  same(
      [](const Tensor& x, const Tensor& w) {
        Tensor h = x * w;
        h[1] = w[0] * x[2];
        h.index({2, 3}) = 4;
        return h;
      },
      [](const Tensor& x, const Tensor& w) {
        const Tensor h = x * w;
        const Tensor kept = tensor({1., 1., 1., 0.}, kFloat64);
        return stack({h[0], w[0] * x[2], h[2] * kept + 4 * (1 - kept)});
      });
  Tensor leaf = sines({2, 2});
  CHECK_THROWS_WITH(leaf[0] = 1, Catch::Matchers::Contains("leaf"));
}

TEST_CASE("a factor may be changed in place after a product if the other factor needs no gradient", "[inplace]") {
  const Tensor w = tensor({{2., 3.}, {5., 7.}}), one = ones({2, 2});
  // Returns the gradient by x of the sum of product(x, w), where x is changed between the product and backward.
  const auto gradient = [&](auto product) {
    Tensor kept = w.clone(), x = tensor({{1., 2.}, {3., 4.}}).requires_grad_();
    const Tensor y = product(x, kept);
    x.detach().add_(1);
    y.backward(one);
    return x.grad();
  };
  CHECK(gradient([](const Tensor& x, const Tensor& k) { return x.mm(k); }).equal(one.mm(w.t())));
  CHECK(gradient([](const Tensor& x, const Tensor& k) { return linear(x, k); }).equal(one.mm(w)));
  CHECK(gradient([](const Tensor& x, const Tensor& k) { return k.mm(x); }).equal(w.t().mm(one)));
  const auto product = [&](auto multiply) {
    Tensor x = tensor({{1., 2.}, {3., 4.}}).requires_grad_(), kept = w.clone();
    const Tensor y = multiply(x, kept);
    kept.add_(1);
    y.backward(one);
  };
  REQUIRE_THROWS_WITH(product([](const Tensor& x, const Tensor& k) { return x.mm(k); }),
                      Contains("modified by an inplace operation"));
  REQUIRE_THROWS_WITH(product([](const Tensor& x, const Tensor& k) { return linear(x, k); }),
                      Contains("modified by an inplace operation"));
}

TEST_CASE("logic in place leaves a tensor the history that it has, as in PyTorch", "[autograd][inplace]") {
  const Tensor x = tensor({1.0, 0.0, 2.0}).requires_grad_();
  const Tensor y = x * 2;
  y.logical_or_(tensor({0.0, 1.0, 0.0}).requires_grad_());
  CHECK(y.detach().equal(ones({3})));
  y.sum().backward();
  CHECK(x.grad().equal(full({3}, 2.0)));
  x.logical_not_();  // allowed for a leaf too
  CHECK(x.is_leaf());
  CHECK(x.requires_grad());
  CHECK(x.detach().equal(tensor({0.0, 1.0, 0.0})));
  const Tensor plain = ones({3});
  plain.logical_and_(x);
  CHECK_FALSE(plain.requires_grad());
  const Tensor z = x.exp();
  z.logical_xor_(ones({3}));
  CHECK_THROWS_WITH(z.sum().backward(), Contains("modified by an inplace operation"));
}

TEST_CASE("a view that was taken before its base required a gradient leads to it once both have changed",
          "[autograd][inplace]") {
  const Tensor x = ones({3}), v = x.view({3, 1});
  x.requires_grad_();
  {
    const NoGradGuard guard;
    v.mul_(2);
  }
  CHECK_FALSE(v.is_leaf());
  (v * 3).sum().backward();
  CHECK(x.grad().equal(full({3}, 3.0)));
}
