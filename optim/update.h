// Helpers for the updates of all optimizers: checks of gradients and options, and placement of state. Internal.
#pragma once
#include <cmath>
#include <typeinfo>

#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"
#include "tandem/optim/optimizer.h"

namespace tandem::optim::detail {

/// Prints a warning, once, if there are several ranks and they have not communicated. Called by every step.
void warn_if_ranks_never_communicate();
/// Returns whether p has a gradient. @throws Error if the gradient has another shape or device than p or is not
/// floating point, or p has gaps or overlaps in memory
inline bool has_valid_grad(const char* op, const Tensor& p) {
  if (!p.grad().defined()) return false;
  TANDEM_CHECK(p.grad().sizes() == p.sizes() && is_floating_point(p.grad().dtype()) && p.grad().device() == p.device(),
               op, ": a parameter of ", p.dtype(), p.sizes(), " on ", p.device(), " has a gradient of ",
               p.grad().dtype(), p.grad().sizes(), " on ", p.grad().device());
  TANDEM_CHECK(core::is_non_overlapping_and_dense(*p.impl()), op, ": a parameter of ", p.sizes(), " has strides ",
               p.strides(), "; its elements must neither overlap nor leave gaps");
  return true;
}
/// Returns t, or a copy of t with p's strides, so that kernels can treat t and p as flat memory.
inline Tensor match_strides(const Tensor& t, const Tensor& p) {
  if ((t.impl()->row_major && p.impl()->row_major) || t.strides() == p.strides()) return t;
  return core::empty_like(p, t.dtype(), t.device()).copy_(t);
}
/// Returns p's gradient with p's strides, in a dtype that is computed in the same type as `dtype`, the dtype of the
/// weights: float64 for float64, and any other dtype for the others.
inline Tensor gradient_for(const Tensor& p, DType dtype) {
  const bool fits = (p.grad().dtype() == kFloat64) == (dtype == kFloat64);
  return match_strides(fits ? p.grad() : p.grad().to(dtype == kFloat64 ? kFloat64 : kFloat32), p);
}
/// Moves and converts a state tensor to its parameter's device and dtype, which may have changed since the last step.
inline void move_state_to_parameter(Tensor& state, const Tensor& p) {
  state = match_strides(state.to(p.device(), p.dtype()), p);
}
/// Checks an option. @param what  how an error names the option, for example "learning rate"
inline void check_not_negative(const char* op, const char* what, double value) {
  TANDEM_CHECK(value >= 0, op, ": Invalid ", what, ": ", value, "; accepted: 0 or more");
}
/// Checks betas[index].
inline void check_beta(const char* op, int index, double beta) {
  TANDEM_CHECK(beta >= 0 && beta < 1, op, ": Invalid beta parameter at index ", index, ": ", beta,
               "; accepted: 0 or more, below 1");
}
/// Casts the options to their class. @throws Error if they are of another optimizer
template <class Options> const Options& cast_options(const char* op, const OptimizerOptions& options) {
  const auto* const own = dynamic_cast<const Options*>(&options);
  TANDEM_CHECK(own, op, ": a parameter group has the options of another optimizer; accepted: ", op, "Options");
  return *own;
}
/// Casts and checks the options of Adamax, NAdam or RAdam. @throws Error unless lr, eps and weight_decay are 0 or more,
/// and the betas are in [0, 1)
template <class Options> const Options& check_adam_options(const char* op, const OptimizerOptions& options) {
  const auto& o = cast_options<Options>(op, options);
  check_not_negative(op, "learning rate", o.lr());
  check_not_negative(op, "epsilon value", o.eps());
  check_not_negative(op, "weight_decay value", o.weight_decay());
  check_beta(op, 0, std::get<0>(o.betas()));
  check_beta(op, 1, std::get<1>(o.betas()));
  return o;
}
/// Visits the options that Adam and its variants share.
template <class Options> void visit_adam_options(Options& o, const OptimizerOptions::Visitor& f) {
  f("lr", &o.lr());
  f("beta1", &std::get<0>(o.betas()));
  f("beta2", &std::get<1>(o.betas()));
  f("eps", &o.eps());
  f("weight_decay", &o.weight_decay());
}

}  // namespace tandem::optim::detail
