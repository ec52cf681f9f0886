// Tests inference mode and anomaly mode. The tested errors are those that PyTorch 2.15 throws.
#include "tandem/tandem.h"
#include "tandem/tests/autograd/sines.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using test::sines;

TEST_CASE("what inference mode makes is an inference tensor, its views too", "[autograd][inference]") {
  const Tensor w = sines({3});
  CHECK_FALSE(InferenceMode::is_enabled());
  Tensor a, view_of_w;
  {
    const InferenceMode guard;
    CHECK(InferenceMode::is_enabled());
    CHECK_FALSE(is_grad_enabled());
    a = w * 2;
    view_of_w = w.view({3, 1});
    CHECK(a.is_inference());
    CHECK_FALSE(a.requires_grad());
    CHECK_FALSE(view_of_w.is_inference());
    {
      const AutoGradMode grad(true);
      CHECK_FALSE((w * 2).requires_grad());
    }
    {
      const InferenceMode off(false);
      CHECK_FALSE((w * 2).is_inference());
      CHECK((w * 2).requires_grad());
    }
    CHECK((w * 2).is_inference());
    a.add_(1);  // allowed in inference mode
  }
  CHECK_FALSE(InferenceMode::is_enabled());
  CHECK(is_grad_enabled());
  CHECK(a[0].is_inference());
  CHECK(a.view({3, 1}).is_inference());
  CHECK(a.detach().is_inference());
  CHECK(a.data().is_inference());
  CHECK_FALSE(a.clone().is_inference());
  CHECK_FALSE((a + 1).is_inference());
  CHECK_FALSE(w.is_inference());
}

TEST_CASE("an inference tensor is not changed, saved or made a leaf outside of inference mode",
          "[autograd][inference]") {
  Tensor a, p = sines({2});
  {
    const InferenceMode guard;
    a = ones({2}, kFloat64);
  }
  CHECK_THROWS_WITH(a._version(), Contains("Inference tensors do not track version counter"));
  CHECK_THROWS_WITH(a.add_(1), Contains("add_") && Contains("(2,)") && Contains("clone"));
  CHECK_THROWS_WITH(a.zero_(),
                    Contains("zero_: Inplace update to inference tensor outside InferenceMode is not allowed"));
  CHECK_THROWS_WITH(a.copy_(p.detach()), Contains("copy_") && Contains("inference tensor"));
  CHECK_THROWS_WITH(a.t_(), Contains("t_") && Contains("inference tensor"));
  CHECK_THROWS_WITH(a.set_(p.detach()), Contains("set_") && Contains("inference tensor"));
  CHECK_THROWS_WITH(a[0].fill_(2), Contains("inference tensor"));
  CHECK_THROWS_WITH(exp_out(a, p.detach()), Contains("exp") && Contains("inference tensor"));
  CHECK_THROWS_WITH(a.requires_grad_(), Contains("requires_grad_") && Contains("inference tensor"));
  CHECK_THROWS_WITH(p * a, Contains("cannot be saved for backward"));
  CHECK(a.equal(ones({2}, kFloat64)));  // nothing was written
  (p + a).sum().backward();             // saves nothing
  CHECK(p.grad().equal(ones({2}, kFloat64)));
  p.mutable_grad().reset();
  (p * a.clone()).sum().backward();
  CHECK(p.grad().equal(ones({2}, kFloat64)));
}

TEST_CASE("an ordinary tensor that inference mode changes in place counts it", "[autograd][inference]") {
  Tensor x = ones({2}), h = sines({2}) * 1;
  const Tensor y = (h * h).sum();
  {
    const InferenceMode guard;
    x.add_(1);
    h.add_(1);
  }
  CHECK(x._version() == 1);
  CHECK_FALSE(x.is_inference());
  CHECK_THROWS_WITH(y.backward(), Contains("version 1"));
}

TEST_CASE("a model gives in inference mode what it gives otherwise", "[autograd][inference]") {
  nn::Sequential model(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 2));
  model->eval();
  const Tensor x = randn({5, 4}), y = model->forward(x);
  const InferenceMode guard;
  CHECK(model->forward(x).equal(y));
  model->to(kFloat64);  // writes to the parameters, which are not inference tensors
  CHECK_FALSE(model->parameters()[0].is_inference());
}

TEST_CASE("anomaly mode names the node whose backward made NaN, and where it was recorded", "[autograd][anomaly]") {
  const autograd::DetectAnomalyGuard guard;
  CHECK(autograd::AnomalyMode::is_enabled());
  const Tensor x = zeros({2}, kFloat64).requires_grad_();
  const Tensor y = (x.sqrt() * 0).sum();  // the backward of sqrt computes 0 / 0
  CHECK_THROWS_WITH(y.backward(),
                    Contains("backward of sqrt returned nan values in its 0th output, a gradient of (2,)") &&
                        Contains("sqrt was recorded at:") && Contains("sqrt(") && !Contains("-rdynamic"));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("anomaly mode without the search for NaN lets it pass", "[autograd][anomaly]") {
  const autograd::DetectAnomalyGuard guard(/*check_nan=*/false);
  CHECK_FALSE(autograd::AnomalyMode::should_check_nan());
  const Tensor x = zeros({2}, kFloat64).requires_grad_();
  (x.sqrt() * 0).sum().backward();
  CHECK(x.grad().isnan().all().item<bool>());
}

TEST_CASE("anomaly mode says where a node was recorded whose backward throws", "[autograd][anomaly]") {
  struct Thrower : autograd::Function<Thrower> {
    static Tensor forward(autograd::AutogradContext*, const Tensor& x) { return x * 2; }
    static autograd::variable_list backward(autograd::AutogradContext*, const autograd::variable_list&) {
      TANDEM_FAIL("on purpose");
    }
  };
  Tensor y;
  {
    const autograd::DetectAnomalyGuard guard;
    y = Thrower::apply(sines({2})).sum();
  }
  CHECK_FALSE(autograd::AnomalyMode::is_enabled());
  const Tensor plain = Thrower::apply(sines({2})).sum();
  CHECK_THROWS_WITH(y.backward(), Contains("on purpose") && !Contains("was recorded"));
  autograd::AnomalyMode::set_enabled(true);
  CHECK_THROWS_WITH(y.backward(), Contains("on purpose") && Contains("CustomFunction was recorded at:"));
  CHECK_THROWS_WITH(plain.backward(), Contains("on purpose") && Contains("without anomaly mode"));
  autograd::AnomalyMode::set_enabled(false);
}

TEST_CASE("anomaly mode names the backward that made a node of a second derivative", "[autograd][anomaly]") {
  const autograd::detect_anomaly guard;
  const Tensor x = zeros({1}, kFloat64).requires_grad_();
  const Tensor y = x.pow(1.5).sum();  // the second derivative 0.75 / sqrt(x) is infinite, and infinity * 0 is NaN
  const Tensor dx = autograd::grad({y}, {x}, {}, true, /*create_graph=*/true)[0];
  CHECK_THROWS_WITH((dx * 0).sum().backward(), Contains("returned nan values") && Contains("in the backward of pow"));
}
