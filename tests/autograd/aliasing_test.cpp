// Tests writing into tensors that share elements with other tensors or with themselves, and into views of a base that
// is
// not dense.
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {
Tensor counting(int64_t n) { return arange(n, TensorOptions(kFloat64)); }
void check_equal(const Tensor& a, const Tensor& b) {
  INFO(a << "\nbeside\n" << b);
  CHECK(a.equal(b));
}
}  // namespace

TEST_CASE("a copy between overlapping views reads everything before it writes", "[aliasing]") {
  Tensor x = counting(100000), before = x.clone();
  x.narrow(0, 1, 99999).copy_(x.narrow(0, 0, 99999));
  check_equal(x.narrow(0, 1, 99999), before.narrow(0, 0, 99999));
  Tensor m = counting(12).view({3, 4}), old = m.clone();
  m.narrow(1, 1, 3).copy_(m.narrow(1, 0, 3));  // both views have gaps between rows
  check_equal(m.narrow(1, 1, 3), old.narrow(1, 0, 3));
  Tensor s = counting(9).view({3, 3}), square = s.clone();
  s.copy_(s.t());
  check_equal(s, square.t());
}

TEST_CASE("in-place arithmetic with a view of the tensor itself sees its old elements", "[aliasing]") {
  Tensor x = counting(9).view({3, 3});
  const Tensor old = x.clone();
  x.add_(x.t());
  check_equal(x, old + old.t());
  x = old.clone();
  x.mul_(x[1]);
  check_equal(x, old * old[1]);
  x = old.clone() + 1;
  x.div_(x[0]);
  check_equal(x, (old + 1) / (old + 1)[0]);
  x = old.clone();
  x.sub_(x);  // an exact overlap needs no copy
  check_equal(x, zeros_like(old));
}

TEST_CASE("a tensor whose elements coincide is written by fill_ alone", "[aliasing]") {
  const Tensor one = ones({1, 2});
  Tensor wide = one.expand({3, 2});
  CHECK_THROWS_WITH(wide.add_(1), Contains("add_") && Contains("clone"));
  CHECK_THROWS_WITH(wide.copy_(ones({3, 2})), Contains("copy_") && Contains("clone"));
  CHECK_THROWS_WITH(wide.exp_(), Contains("exp_"));
  CHECK_THROWS_WITH(wide.uniform_(), Contains("uniform_"));
  check_equal(wide.fill_(2), full({3, 2}, 2.0));
  check_equal(wide.zero_(), zeros({3, 2}));
}

TEST_CASE("gradients through a view of a base that does not lie densely are right", "[aliasing][inplace]") {
  const Tensor base = GENERATE(0, 1, 2) == 0 ? counting(12).view({3, 4})
                      : GENERATE(0, 1) == 0  ? counting(12).view({4, 3}).t().detach()
                                             : counting(24).view({3, 8}).slice(1, 0, {}, 2).detach();
  const Tensor factors = counting(12).view({3, 4}) + 1;
  Tensor w = ones({2, 2}, kFloat64).requires_grad_();
  Tensor t = base.narrow(0, 0, 3).detach();  // detached, so it is a base itself, with the strides of the tensor above
  Tensor corner = t.narrow(0, 1, 2).narrow(1, 2, 2);
  corner.copy_(w * 3);
  (t * factors).sum().backward();
  check_equal(w.grad(), factors.narrow(0, 1, 2).narrow(1, 2, 2) * 3);
  // The tensor that filled the rest of the base gets the gradient of the rest.
  Tensor v = ones({3, 4}, kFloat64).requires_grad_();
  Tensor u = (v * 2).t().detach();
  u.copy_((v * 2).t());
  u.narrow(0, 1, 2).mul_(5);
  (u * factors.view({4, 3})).sum().backward();
  Tensor expected = factors.view({4, 3}) * 2;
  expected.narrow(0, 1, 2).mul_(5);
  check_equal(v.grad(), expected.t());
}

TEST_CASE("as_strided has a gradient whatever strides its input has", "[aliasing]") {
  const auto diagonal = [](const autograd::variable_list& in) -> autograd::variable_list {
    const Tensor x = in[0].t();  // (4, 3) with strides (1, 4)
    return {x.as_strided({3}, {5}), x.as_strided({2, 2, 2}, {1, 1, 4})};
  };
  CHECK(autograd::gradcheck(diagonal, {(counting(12).view({3, 4}) * 0.1).requires_grad_()}));
  CHECK(autograd::gradgradcheck(diagonal, {(counting(12).view({3, 4}) * 0.1).requires_grad_()}));
}

TEST_CASE("an operation keeps no more than its gradient needs, so its result may be changed in place", "[aliasing]") {
  Tensor x = (counting(3) + 1).requires_grad_();
  Tensor h = x / 2;
  h.mul_(3).add_(1);
  h.sum().backward();
  check_equal(x.grad(), full({3}, 1.5, kFloat64));
}

TEST_CASE("an error of an in-place operation names it as it is called", "[aliasing]") {
  Tensor leaf = ones({2}).requires_grad_();
  CHECK_THROWS_WITH(leaf.add_(1), Contains("add_:") && !Contains("add__"));
}

TEST_CASE("a custom function that returns its argument leaves the argument as it was", "[function]") {
  struct First : autograd::Function<First> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x, const Tensor&) { return x; }
    static autograd::variable_list backward(autograd::AutogradContext*, autograd::variable_list grads) {
      return {grads[0], grads[0] * 2};
    }
  };
  const Tensor x = ones({2});
  const Tensor w = ones({2}).requires_grad_();
  const Tensor y = First::apply(x, w);
  CHECK(y.requires_grad());
  CHECK_FALSE(x.requires_grad());
  y.sum().backward();
  check_equal(w.grad(), full({2}, 2.0));
}

TEST_CASE("a view is a tensor of its own, with hooks and a flag of its own", "[aliasing]") {
  const Tensor x = ones({3}), scalar = ones({});
  for (const Tensor& view : {x.t(), x.index({indexing::Ellipsis}), x.index({indexing::Slice()}), x.view({3})}) {
    CHECK_FALSE(view.is_same(x));
    CHECK(view.storage() == x.storage());
  }
  CHECK(scalar.t().storage() == scalar.storage());
  x.t().requires_grad_();
  x.index({indexing::Ellipsis}).requires_grad_();
  CHECK_FALSE(x.requires_grad());
  const Tensor y = ones({3}).requires_grad_() * 2;
  y.t().register_hook([](const Tensor&) { FAIL("a hook of a view that nobody uses"); });
  y.index({indexing::Ellipsis}).register_hook([](const Tensor&) { FAIL("a hook of a view that nobody uses"); });
  y.sum().backward();
}

TEST_CASE("what has nothing to flatten is given back", "[aliasing]") {
  const Tensor x = ones({3}), m = ones({2, 3});
  CHECK(x.flatten().is_same(x));
  CHECK(m.flatten(1).is_same(m));
  CHECK_FALSE(m.flatten().is_same(m));
  CHECK(ones({}).flatten().sizes() == Shape{1});
}

TEST_CASE("an index of one place is a view, so that it can be written through", "[aliasing]") {
  Tensor x = counting(6).view({2, 3});
  x.index({tensor(1), tensor(-1).to(kInt32)}).fill_(10);
  CHECK(x[1][2].item<double>() == 10);
  x.index({tensor({1})}).fill_(0);  // a one-element index tensor with a dimension makes a copy
  CHECK(x[1][2].item<double>() == 10);
  x.index({tensor(true), 1}).fill_(0);  // a mask makes a copy
  CHECK(x[1][2].item<double>() == 10);
  CHECK_THROWS_AS(x.index({tensor(2)}), IndexError);
}

TEST_CASE("repeat gives a copy, whatever it repeats", "[aliasing]") {
  for (const std::vector<int64_t>& repeats : {std::vector<int64_t>{1}, {1, 1}, {3}}) {
    const Tensor x = ones({1}).requires_grad_(), y = x.repeat(repeats);
    CHECK(y.storage() != x.storage());
    CHECK(y.is_contiguous());
    const NoGradGuard guard;
    y.view({-1})[0].fill_(5);
    CHECK(x.item<float>() == 1);
  }
}

TEST_CASE("views of moved, split and diagonal elements share them and pass gradients on", "[aliasing]") {
  const Tensor x = zeros({3, 4}).requires_grad_(), y = x * 1;
  y.diagonal(1).fill_(5);
  y.movedim(0, 1).select(0, 0).add_(1);
  y.tensor_split(2, 1)[1].mul_(2);
  y.unflatten(1, {2, 2}).swapaxes(1, 2).select(1, 1).neg_();
  CHECK(y.equal(tensor({1., -5., 0., 0., 1., 0., 10., 0., 1., 0., 0., -10.}).to(kFloat32).view({3, 4})));
  y.sum().backward();
  CHECK(x.grad().equal(tensor({1., 0., 2., -2., 1., -1., 0., -2., 1., -1., 2., 0.}).to(kFloat32).view({3, 4})));
}
