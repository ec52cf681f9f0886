// Softmax: softmax and log_softmax, and their gradients, which are operations themselves.
#include "tandem/ops/nn/softmax.h"

#include "tandem/kernels/softmax.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, log_softmax, softmax);

namespace {

Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim);

/// An uninitialised output of a's shape, and a 3-d view of it (`flat`) for kernels to write.
struct SoftmaxOutput {
  Tensor y, flat;
  SoftmaxOutput(const Tensor& a, const Tensor& flat_a)
      : y(core::empty(a.sizes(), a.dtype(), a.device())), flat(core::try_view(y, flat_a.sizes())) {}
};
Tensor softmax_impl(const Tensor& x, int64_t dim) {
  const Tensor from = as_outer_dim_inner(x, dim);
  SoftmaxOutput to(x, from);
  TANDEM_DISPATCH(x.device(), softmax, from, to.flat);
  return record_op("softmax", to.y, {x}, {to.y}, [dim](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {softmax_backward(dy, ctx.saved(0), dim)};
  });
}
Tensor log_softmax_impl(const Tensor& x, int64_t dim) {
  const Tensor from = as_outer_dim_inner(x, dim);
  SoftmaxOutput to(x, from);
  TANDEM_DISPATCH(x.device(), log_softmax, from, to.flat);
  return record_op("log_softmax", to.y, {x}, {to.y}, [dim](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {log_softmax_backward(dy, ctx.saved(0), dim)};
  });
}

}  // namespace

/// Returns dx = y (dy - sum(dy y)), where the sum is along dim.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  const Tensor g = as_outer_dim_inner(dy, dim), out = as_outer_dim_inner(y, dim);
  SoftmaxOutput to(y, out);
  TANDEM_DISPATCH(y.device(), softmax_backward, g, out, to.flat);
  return record_op(
      "softmax_backward", to.y, {dy, y}, {dy, y}, [dim](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
        const Tensor dy = ctx.saved(0), y = ctx.saved(1);
        const Tensor dot = (dy * y).sum({dim}, true), other = (ddx * y).sum({dim}, true);
        return {softmax_backward(ddx, y, dim), ctx.needs_grad(1) ? ddx * (dy - dot) - dy * other : Tensor()};
      });
}
namespace {
/// Returns dx = dy - e^y sum(dy), where the sum is along dim.
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, int64_t dim) {
  const Tensor g = as_outer_dim_inner(dy, dim), out = as_outer_dim_inner(y, dim);
  SoftmaxOutput to(y, out);
  TANDEM_DISPATCH(y.device(), log_softmax_backward, g, out, to.flat);
  return record_op(
      "log_softmax_backward", to.y, {dy, y}, {dy, y}, [dim](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
        const Tensor dy = ctx.saved(0), p = ctx.saved(1).exp();
        return {ddx - (ddx * p).sum({dim}, true), ctx.needs_grad(1) ? (ddx * p * dy.sum({dim}, true)).neg() : Tensor()};
      });
}
}  // namespace

Tensor softmax(const Tensor& given, int64_t dim, std::optional<DType> dtype) {
  if (const Autocast cast{cast_policy::softmax, given}) return softmax(cast(given), dim, dtype);
  const Tensor x = dtype ? given.to(*dtype) : given;
  check_floating_point("softmax", x);
  return softmax_impl(x, wrap_dim("softmax", dim, x.dim()));
}
Tensor log_softmax(const Tensor& given, int64_t dim, std::optional<DType> dtype) {
  if (const Autocast cast{cast_policy::log_softmax, given}) return log_softmax(cast(given), dim, dtype);
  const Tensor x = dtype ? given.to(*dtype) : given;
  check_floating_point("log_softmax", x);
  return log_softmax_impl(x, wrap_dim("log_softmax", dim, x.dim()));
}
Tensor Tensor::softmax(int64_t dim) const { return tandem::softmax(*this, dim); }
Tensor Tensor::log_softmax(int64_t dim) const { return tandem::log_softmax(*this, dim); }

}  // namespace tandem
