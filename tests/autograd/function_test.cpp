// Tests custom functions, and that gradcheck fails for a wrong derivative.
#include "tandem/tandem.h"
#include "tandem/tests/autograd/sines.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using autograd::AutogradContext;
using autograd::variable_list;
using test::sines;

namespace {

/// y = k * x * exp(x). Saves its input and its output.
struct Scaled : autograd::Function<Scaled> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double k) {
    ctx->saved_data["k"] = k;
    const Tensor y = x * x.exp() * k;
    ctx->save_for_backward({x, y});
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list dy) {
    const variable_list saved = ctx->get_saved_variables();
    const double k = ctx->saved_data["k"].toDouble();
    return {dy[0] * (saved[0].exp() * k + saved[1]), Tensor()};
  }
};

/// Returns (a * b, a + b). Records which gradients backward was asked for.
struct Pair2 : autograd::Function<Pair2> {
  static inline bool wants_a = false, wants_b = false;
  static variable_list forward(AutogradContext* ctx, const Tensor& a, const Tensor& b) {
    ctx->save_for_backward({a, b});
    return {a * b, a + b};
  }
  static variable_list backward(AutogradContext* ctx, variable_list dy) {
    const variable_list s = ctx->get_saved_variables();
    wants_a = ctx->needs_input_grad(0), wants_b = ctx->needs_input_grad(1);
    return {wants_a ? dy[0] * s[1] + dy[1] : Tensor(), wants_b ? dy[0] * s[0] + dy[1] : Tensor()};
  }
};

}  // namespace

TEST_CASE("a custom function has the gradients of its backward, first and second", "[autograd][function]") {
  const auto f = [](const variable_list& in) -> variable_list { return {Scaled::apply(in[0], 1.5)}; };
  CHECK(autograd::gradcheck(f, {sines({2, 3})}));
  CHECK(autograd::gradgradcheck(f, {sines({2, 3})}));
  const auto two = [](const variable_list& in) -> variable_list { return Pair2::apply(in[0], in[1]); };
  CHECK(autograd::gradcheck(two, {sines({4}), sines({4})}));
  CHECK(autograd::gradgradcheck(two, {sines({4}), sines({4})}));
}

TEST_CASE("a custom function is told which gradients are wanted", "[autograd][function]") {
  const Tensor a = sines({3}), b = ones({3}, kFloat64);
  Pair2::apply(a, b)[0].sum().backward();
  CHECK((Pair2::wants_a && !Pair2::wants_b));
  CHECK(a.grad().equal(b));  // the second output is unused, so backward gets zeros for its gradient
}

TEST_CASE("a custom function records nothing without need, and its outputs know it otherwise", "[autograd][function]") {
  CHECK_FALSE(Scaled::apply(ones({2}), 2.0).requires_grad());
  const Tensor x = sines({2});
  CHECK(Scaled::apply(x, 2.0).grad_fn_name() != "");
  const NoGradGuard guard;
  CHECK_FALSE(Scaled::apply(x, 2.0).requires_grad());
}

TEST_CASE("a custom function that returns its input leaves the input's history alone", "[autograd][function]") {
  struct Reverse : autograd::Function<Reverse> {  // identity whose backward negates the gradient
    static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
    static variable_list backward(AutogradContext*, variable_list dy) { return {-dy[0]}; }
  };
  const Tensor x = sines({2});
  const Tensor y = Reverse::apply(x);
  CHECK(x.is_leaf());
  (y.sum() * 3 + x.sum()).backward();
  CHECK(x.grad().equal(full({2}, -2.0, kFloat64)));
}

TEST_CASE("saved tensors of a custom function are guarded as others are", "[autograd][function]") {
  Tensor h = sines({3}) * 1;
  const Tensor y = Scaled::apply(h, 1.0);
  h.add_(1);
  CHECK_THROWS_WITH(y.sum().backward(), Contains("version 1") && Contains("(3,)"));
  const Tensor z = Scaled::apply(sines({3}), 1.0).sum();
  z.backward();
  CHECK_THROWS_WITH(z.backward(), Contains("second time"));
}

TEST_CASE("a backward that returns the wrong number or shape of gradients is named", "[autograd][function]") {
  struct TooFew : autograd::Function<TooFew> {
    static Tensor forward(AutogradContext*, const Tensor& a, const Tensor& b) { return a + b; }
    static variable_list backward(AutogradContext*, variable_list dy) { return {dy[0]}; }
  };
  struct Narrow : autograd::Function<Narrow> {
    static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2; }
    static variable_list backward(AutogradContext*, variable_list dy) { return {dy[0].sum()}; }
  };
  CHECK_THROWS_WITH(TooFew::apply(sines({2}), sines({2})).sum().backward(),
                    Contains("incorrect number of gradients (expected 2, got 1)"));
  CHECK_THROWS_WITH(Narrow::apply(sines({2})).sum().backward(), Contains("()") && Contains("(2,)"));
}

TEST_CASE("gradcheck finds a wrong derivative and names input, element and both values", "[autograd][gradcheck]") {
  struct Wrong : autograd::Function<Wrong> {  // x^2 + 3 y; backward returns 4 in place of 3 for the derivative by y[1]
    static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& y) {
      ctx->save_for_backward({x});
      return x * x + y * 3;
    }
    static variable_list backward(AutogradContext* ctx, variable_list dy) {
      return {dy[0] * ctx->get_saved_variables()[0] * 2, dy[0] * tensor({3.0, 4.0}, kFloat64)};
    }
  };
  const auto f = [](const variable_list& in) -> variable_list { return {Wrong::apply(in[0], in[1])}; };
  CHECK_THROWS_WITH(
      autograd::gradcheck(f, {sines({2}), sines({2})}),
      Contains("input 1[1]") && Contains("output 0[1]") && Contains("numerical 3") && Contains("analytical 4"));
  const auto missing = [](const variable_list& in) -> variable_list { return {in[0].detach() * in[0]}; };
  CHECK_THROWS_WITH(autograd::gradcheck(missing, {sines({1})}), Contains("input 0[0]"));
  CHECK_THROWS_WITH(autograd::gradcheck(f, {ones({2}).requires_grad_(), sines({2})}),
                    Contains("input 0") && Contains("float32") && Contains("float64"));
}

TEST_CASE("gradgradcheck finds a first derivative that is right and a second that is not", "[autograd][gradcheck]") {
  struct Cubed : autograd::Function<Cubed> {
    static Tensor forward(AutogradContext* ctx, const Tensor& x) {
      ctx->save_for_backward({x});
      return x * x * x;
    }
    static variable_list backward(AutogradContext* ctx, variable_list dy) {
      const Tensor x = ctx->get_saved_variables()[0];
      return {dy[0] * x.detach() * x * 3};  // detach() loses half of the second derivative
    }
  };
  const auto f = [](const variable_list& in) -> variable_list { return {Cubed::apply(in[0])}; };
  CHECK(autograd::gradcheck(f, {sines({3})}));
  CHECK_THROWS_WITH(autograd::gradgradcheck(f, {sines({3})}), Contains("numeric") && Contains("analytic"));
}

namespace {

/// x *= k in place, as in LibTorch's documentation.
struct ScaleInPlace : autograd::Function<ScaleInPlace> {
  static variable_list forward(AutogradContext* ctx, double k, Tensor x) {
    ctx->saved_data["k"] = k;
    x.mul_(k);
    ctx->mark_dirty({x});
    ctx->save_for_backward({x, Tensor()});
    return {x};
  }
  static variable_list backward(AutogradContext* ctx, variable_list dy) {
    const variable_list saved = ctx->get_saved_variables();
    CHECK((saved.size() == 2 && saved[0].defined() && !saved[1].defined()));
    return {Tensor(), dy[0] * ctx->saved_data["k"].toDouble()};
  }
};

}  // namespace

TEST_CASE("a custom function may change its input in place", "[autograd][function]") {
  const Tensor x = sines({3});
  Tensor h = x * 2;
  const Tensor seen = ScaleInPlace::apply(5.0, h)[0];
  CHECK(seen.is_same(h));
  CHECK(h._version() >= 1);
  CHECK(h.grad_fn_name() == "CustomFunction");
  CHECK(h.allclose(x * 10));
  h.sum().backward();
  CHECK(x.grad().equal(full({3}, 10.0, kFloat64)));

  SECTION("a view's base takes part") {
    const Tensor y = sines({4});
    Tensor base = y * 1, part = base.narrow(0, 1, 2);
    ScaleInPlace::apply(3.0, part);
    base.sum().backward();
    CHECK(y.grad().equal(tensor({1.0, 3.0, 3.0, 1.0}, kFloat64)));
  }
  SECTION("a leaf that requires a gradient is refused, and one that is not returned") {
    CHECK_THROWS_WITH(ScaleInPlace::apply(2.0, sines({2})), Contains("leaf") && Contains("NoGradGuard"));
    struct Forgetful : autograd::Function<Forgetful> {
      static Tensor forward(AutogradContext* ctx, Tensor t) {
        t.add_(1);
        ctx->mark_dirty({t});
        return t * 2;
      }
      static variable_list backward(AutogradContext*, variable_list dy) { return {dy[0]}; }
    };
    CHECK_THROWS_WITH(
        Forgetful::apply(sines({2}) * 1),
        Contains("Some elements marked as dirty during the forward method were not returned") && Contains("(2,)"));
  }
}

TEST_CASE("outputs that are marked so have no gradient, and gradients may stay undefined", "[autograd][function]") {
  // returns x, the ranks of its elements as numbers, 2 x, and an undefined tensor
  struct Sorted : autograd::Function<Sorted> {
    static variable_list forward(AutogradContext* ctx, const Tensor& x, bool materialize) {
      ctx->set_materialize_grads(materialize);
      const Tensor ranks = x.argsort().to(kFloat64);
      ctx->mark_non_differentiable({ranks});
      return {x * 1, ranks, x * 2, Tensor()};
    }
    static variable_list backward(AutogradContext* ctx, variable_list dy) {
      defined() = {dy[0].defined(), dy[1].defined(), dy[2].defined(), dy[3].defined()};
      static_cast<void>(ctx);
      return {dy[0], Tensor()};
    }
    static std::vector<bool>& defined() {
      static std::vector<bool> list;
      return list;
    }
  };
  const Tensor x = sines({4});
  variable_list y = Sorted::apply(x, true);
  CHECK((y[0].requires_grad() && !y[1].requires_grad() && y[2].requires_grad() && !y[3].defined()));
  CHECK(y[1].is_leaf());
  y[0].sum().backward();
  CHECK(Sorted::defined() == std::vector<bool>{true, true, true, false});
  CHECK(x.grad().equal(ones({4}, kFloat64)));
  y = Sorted::apply(x, false);
  y[0].sum().backward();
  CHECK(Sorted::defined() == std::vector<bool>{true, false, false, false});
}

TEST_CASE("tensors of a list and optional ones are arguments of a custom function", "[autograd][function]") {
  struct SumOf : autograd::Function<SumOf> {
    static Tensor forward(AutogradContext*, TensorList list, const std::optional<Tensor>& more, double scale) {
      Tensor sum = more ? *more * scale : zeros({2}, kFloat64);
      for (const Tensor& t : list) sum = sum + t;
      return sum;
    }
    static variable_list backward(AutogradContext*, variable_list dy) {
      return {dy[0], dy[0] * 2, dy[0] * 3, Tensor()};
    }
  };
  const variable_list list{sines({2}), sines({2}, 1)};
  const std::optional<Tensor> more = sines({2});
  SumOf::apply(TensorList(list), more, 4.0).sum().backward();
  CHECK(list[0].grad().equal(full({2}, 1.0, kFloat64)));
  CHECK(list[1].grad().equal(full({2}, 2.0, kFloat64)));
  CHECK(more->grad().equal(full({2}, 3.0, kFloat64)));
  SumOf::apply(TensorList(list), std::optional<Tensor>(), 4.0).sum().backward();
  CHECK(list[1].grad().equal(full({2}, 4.0, kFloat64)));
}
