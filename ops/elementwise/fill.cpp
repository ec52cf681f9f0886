// Filling with one number: fill, zero, and their in-place versions.
#include "tandem/ops/elementwise/fill.h"

#include "tandem/kernels/fill.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, fill, zero);

namespace {
Tensor& fill(const char* op, Tensor& x, const Scalar& value) {
  check_inplace_allowed(op, x);
  detail::check_representable(op, x.dtype(), value);
  const auto direct = [&] { TANDEM_DISPATCH(x.device(), fill, value, x); };
  // allowed even if elements share memory (as in an expanded tensor), because all get the same value
  if (!x.requires_grad()) {
    direct();
    x.bump_version();
    return x;
  }
  return autograd::run_inplace(
      op, x, {}, direct, [&](const Tensor&) { return full(x.sizes(), value, x.options()); },
      autograd::InplaceAccess::overwrite);
}
}  // namespace

Tensor& Tensor::fill_(const Scalar& value) const { return fill("fill_", self(), value); }
Tensor& Tensor::fill_(const Tensor& value) const {
  TANDEM_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
               " dimensions.");
  return copy_inplace("fill_", self(), value, /*non_blocking=*/false);
}
Tensor& Tensor::zero_() const { return fill("zero_", self(), 0); }
Tensor fill(const Tensor& x, const Scalar& value) { return x.clone().fill_(value); }
Tensor fill(const Tensor& x, const Tensor& value) { return x.clone().fill_(value); }
Tensor zero(const Tensor& x) { return x.clone().zero_(); }

}  // namespace tandem
