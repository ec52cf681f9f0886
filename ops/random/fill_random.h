// Helpers of operations that draw random numbers: filling a tensor in place, checks of parameters. Internal.
#pragma once
#include "tandem/core/trace/observer.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/reserve_random_numbers.h"

namespace tandem::detail {

/// Fills x in place with random numbers. All elements are replaced, so x's previous history ends here.
template <class Fill> Tensor& fill_random(const char* op, Tensor& x, Fill fill) {
  return autograd::run_inplace(
      op, x, {}, [&] { fill(reserve_random_numbers(x.device(), x.numel()), x); },
      [&](const Tensor&) {
        Tensor fresh = empty_like(x);
        fill(reserve_random_numbers(x.device(), x.numel()), fresh);
        return fresh;
      },
      autograd::InplaceAccess::overwrite);
}
/// Writes transform(u) into x, where u are uniform numbers in [0, 1). u has x's dtype, but float32 for half types and
/// float64 for integers.
template <class Transform> Tensor& fill_transformed(const char* op, Tensor& x, const Transform& transform) {
  const auto draw = [&] {
    const NoGradGuard guard;
    const DType type = is_reduced_floating_point(x.dtype()) ? kFloat32 : x.is_floating_point() ? x.dtype() : kFloat64;
    return transform(rand(x.sizes(), TensorOptions(type).device(x.device())));
  };
  return autograd::run_inplace(
      op, x, {}, [&] { copy_elements(draw(), x); }, [&](const Tensor&) { return draw().to(x.dtype()); },
      autograd::InplaceAccess::overwrite);
}
/// Makes autograd record y, random numbers drawn with the tensor parameters a and b, with derivatives of 0.
inline Tensor record_with_zero_derivatives(const char* op, const Tensor& y, const Tensor& a, const Tensor& b = {}) {
  const Tensor other = b.defined() ? b : a.detach();
  return record_op(
      op, y, {a, other}, {},
      [one = Shape(a.sizes()), two = Shape(other.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        return {ctx.needs_grad(0) ? zeros(one, dy.options()) : Tensor(),
                ctx.needs_grad(1) ? zeros(two, dy.options()) : Tensor()};
      });
}
inline void check_random_dtype(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), op, ": dtype is ", x.dtype(), "; accepted: floating point");
}

/// Checks that all elements are in [least, most]. The check reads values on the host, so it is skipped for a GPU's
/// tensors, where it would synchronize, and while tracing or recording.
/// @param rule  what the message says about the elements
/// @throws Error if an element is out of range
inline void check_each_in_range(const char* op, const char* rule, const Tensor& x, double least, double most) {
  if (!x.is_cpu() || ThreadContext::current().observer || x.numel() == 0) return;
  const NoGradGuard guard;
  // If an element is NaN, low and high are NaN, and the check fails.
  const double low = x.detach().amin().item<double>(), high = x.detach().amax().item<double>();
  TANDEM_CHECK(low >= least && high <= most, op, ": ", rule, "; found ", low >= least ? high : low);
}

}  // namespace tandem::detail
