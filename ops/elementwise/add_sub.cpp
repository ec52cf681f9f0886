// Sums and differences: add, sub, subtract, rsub.
#include "tandem/ops/elementwise/add_sub.h"

#include "tandem/kernels/elementwise.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, add, rsub, sub);

namespace {
Tensor add_scaled(const char* op, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const Operands o = promote_operands(op, a, b);
  check_alpha(op, o.a.dtype(), alpha);
  if (o.a.dtype() == kBool) return o.a.logical_or(alpha.to<bool>() ? o.b : o.b.logical_and(false));
  Tensor y = empty_result(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), add, o.a, o.b, alpha, y);
  return record_op(
      "add", std::move(y), {o.a, o.b}, {},
      [alpha, one = alpha.to_double() == 1](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        return {ctx.needs_grad(0) ? dy : Tensor(), !ctx.needs_grad(1) ? Tensor() : one ? dy : dy.mul(alpha)};
      });
}
Tensor& add_scaled_inplace(const char* op, Tensor& x, const Tensor& other, const Scalar& alpha) {
  const DType type = result_type(x, other);
  check_inplace_result(op, x, other, type);
  check_alpha(op, type, alpha);
  const auto direct = [&] {
    if (!is_kernel_compatible(x, other) || x.dtype() == kBool) {
      const NoGradGuard guard;
      return copy_elements(x.add(other, alpha), x);
    }
    const Tensor from = copy_if_overlapping(x, other);
    TANDEM_DISPATCH(x.device(), add, x, from, alpha, x);
  };
  return autograd::run_inplace(op, x, {other}, direct,
                               [&](const Tensor& old) { return old.add(other, alpha).to(x.dtype()); });
}
Tensor& add_scaled_out(const char* op, Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  check_out(op, out, {a, b});
  const Operands o = promote_operands(op, a, b);
  check_alpha(op, o.a.dtype(), alpha);
  return write_out(op, out, {o.a, o.b}, o.sizes, o.a.dtype(), o.device, [&](Tensor& y) {
    if (y.dtype() == kBool) return copy_elements(o.a.add(o.b, alpha), y);
    TANDEM_DISPATCH(y.device(), add, o.a, o.b, alpha, y);
  });
}
void check_subtraction(const char* op, const Tensor& a, const Tensor& b) {
  const bool first = a.dtype() == kBool, second = b.dtype() == kBool;
  tandem::check_subtraction(op, first || second, first && second);
}
/// Returns -alpha. A bool is returned unchanged, so that check_alpha can refuse it.
Scalar negate_alpha(const Scalar& alpha) {
  return alpha.is_boolean()          ? alpha
         : alpha.is_floating_point() ? Scalar(-alpha.to_double())
                                     : Scalar(-alpha.to_int64());
}
/// Returns the number s as a tensor that can be added to x in place. @throws Error unless x's dtype can hold it
Tensor wrap_addend(const char* op, const Tensor& x, const Scalar& s) {
  check_scalar_fits(op, x, s);
  return wrapped_scalar_tensor(x.device(), s, x.dtype());
}
}  // namespace
Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const { return add_scaled("add", *this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const {
  check_subtraction("sub", *this, other);
  return add_scaled("sub", *this, other, negate_alpha(alpha));
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha) const { return add(wrap_scalar(*this, other), alpha); }
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha) const {
  check_subtraction("sub", other.is_boolean());
  return sub(wrap_scalar(*this, other), alpha);
}
Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) const {
  return add_scaled_inplace("add_", self(), other, alpha);
}
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) const {
  check_subtraction("sub_", self(), other);
  return add_scaled_inplace("sub_", self(), other, negate_alpha(alpha));
}
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) const {
  return add_(wrap_addend("add_", self(), other), alpha);
}
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) const {
  check_subtraction("sub_", other.is_boolean());
  return sub_(wrap_addend("sub_", self(), other), alpha);
}
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return add_scaled_out("add_out", out, a, b, alpha);
}
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  check_subtraction("sub_out", a, b);
  return add_scaled_out("sub_out", out, a, b, negate_alpha(alpha));
}
Tensor rsub(const Tensor& x, const Tensor& other, const Scalar& alpha) { return other.sub(x, alpha); }
Tensor rsub(const Tensor& x, const Scalar& other, const Scalar& alpha) { return wrap_scalar(x, other).sub(x, alpha); }

}  // namespace tandem
