// Compares gradients with finite differences, element by element, in float64.
#include "tandem/ops/gradcheck.h"

#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/core/internal.h"
#include "tandem/ops/define_op.h"

namespace tandem::autograd {
namespace {

variable_list get_floating_outputs(const variable_list& all) {
  variable_list out;
  for (const Tensor& t : all)
    if (t.defined() && t.is_floating_point()) out.push_back(t);
  return out;
}
variable_list evaluate_outputs(const GradcheckFunction& f, const variable_list& inputs) {
  const NoGradGuard guard;
  variable_list copies;
  for (const Tensor& t : inputs) copies.push_back(t.detach());
  variable_list out;
  for (const Tensor& t : get_floating_outputs(f(copies))) out.push_back(t.contiguous().clone());
  return out;
}
// Checks that the inputs can be changed and read element by element, through pointers to double.
void check_inputs(const char* op, const variable_list& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    TANDEM_CHECK(!inputs[i].requires_grad() ||
                     (inputs[i].dtype() == kFloat64 && inputs[i].is_contiguous() && inputs[i].is_cpu()),
                 op, ": input ", i, " is ", inputs[i].dtype(), " on ", inputs[i].device(),
                 "; inputs that require a gradient must be contiguous float64 on the CPU");
}
variable_list get_checked_outputs(const char* op, const variable_list& all) {
  variable_list outputs = get_floating_outputs(all);
  for (size_t i = 0; i < outputs.size(); ++i)
    TANDEM_CHECK(outputs[i].dtype() == kFloat64 && outputs[i].is_cpu(), op, ": floating output ", i, " is ",
                 outputs[i].dtype(), " on ", outputs[i].device(), "; floating outputs must be float64 on the CPU");
  return outputs;
}

}  // namespace

bool gradcheck(const GradcheckFunction& f, const variable_list& inputs, double eps, double atol, double rtol) {
  check_inputs("gradcheck", inputs);
  const variable_list outputs = get_checked_outputs("gradcheck", f(inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& x = inputs[i];
    if (!x.requires_grad() || x.numel() == 0) continue;
    // numeric[e][o]: derivative of all elements of output o with respect to element e of the input
    double* const element = x.detach().data<double>();
    std::vector<variable_list> numeric;
    for (int64_t e = 0; e < x.numel(); ++e) {
      const double middle = element[e];
      element[e] = middle + eps;
      variable_list up = evaluate_outputs(f, inputs);
      element[e] = middle - eps;
      const variable_list down = evaluate_outputs(f, inputs);
      element[e] = middle;
      for (size_t o = 0; o < up.size(); ++o) up[o] = (up[o] - down[o]) / (2 * eps);
      numeric.push_back(std::move(up));
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      for (int64_t k = 0; k < outputs[o].numel(); ++k) {
        Tensor seed = zeros(outputs[o].sizes(), outputs[o].options());
        seed.data<double>()[k] = 1;
        Tensor analytic;
        if (outputs[o].requires_grad()) analytic = grad({outputs[o]}, {x}, {seed}, true, false, true)[0];
        const Tensor dense = analytic.defined() ? analytic.detach().contiguous() : zeros(x.sizes(), x.options());
        for (int64_t e = 0; e < x.numel(); ++e) {
          const double n = numeric[static_cast<size_t>(e)][o].data<double>()[k], a = dense.data<double>()[e];
          TANDEM_CHECK(std::abs(n - a) <= atol + rtol * std::abs(n), "gradcheck: Jacobian mismatch for output ", o,
                       " with respect to input ", i, ": d output ", o, "[", k, "] / d input ", i, "[", e,
                       "]: numerical ", n, ", analytical ", a);
        }
      }
    }
  }
  return true;
}

bool gradgradcheck(const GradcheckFunction& f, const variable_list& inputs, double eps, double atol, double rtol) {
  check_inputs("gradgradcheck", inputs);
  const variable_list outputs = get_checked_outputs("gradgradcheck", f(inputs));
  variable_list all = inputs;
  const size_t count = inputs.size();
  for (const Tensor& y : outputs) {
    Tensor seed = empty(y.sizes(), y.options());
    double* const p = seed.data<double>();
    // Arbitrary, but fixed values.
    for (int64_t i = 0; i < seed.numel(); ++i) p[i] = std::sin(1.0 + 1.7 * static_cast<double>(i));
    all.push_back(seed.requires_grad_());
  }
  const auto gradients = [&](const variable_list& in) -> variable_list {
    const EnableGradGuard on;  // the finite differences are computed with grad mode off, but gradients() needs autograd
    variable_list args, seeds, wanted;
    for (size_t i = 0; i < in.size(); ++i) {
      Tensor t = in[i];
      if (!t.requires_grad() && all[i].requires_grad()) t = t.detach().requires_grad_();
      (i < count ? args : seeds).push_back(t);
      if (i < count && all[i].requires_grad()) wanted.push_back(t);
    }
    variable_list ys, used;
    const variable_list made = get_floating_outputs(f(args));
    for (size_t o = 0; o < made.size(); ++o)
      if (made[o].requires_grad()) ys.push_back(made[o]), used.push_back(seeds[o]);
    variable_list out;
    if (ys.empty()) return out;
    const variable_list found = grad(ys, wanted, used, true, true, true);
    for (size_t i = 0; i < found.size(); ++i)
      out.push_back(found[i].defined() ? found[i] : zeros(wanted[i].sizes(), wanted[i].options()));
    return out;
  };
  return gradcheck(gradients, all, eps, atol, rtol);
}

}  // namespace tandem::autograd
