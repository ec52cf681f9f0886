// Linear maps: linear.
#include "tandem/ops/nn/linear.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/products/multiply.h"

namespace tandem {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& given) {
  TANDEM_CHECK(weight.dim() == 2 && x.dim() > 0 && x.size(-1) == weight.size(1), "linear: x is ", x.sizes(),
               " and weight is ", weight.sizes(), "; the last dimension of x must equal weight's second");
  check_operands("linear", x, weight);
  const bool mixed = given.defined() && is_half(x.dtype()) && given.dtype() == kFloat32;
  const Tensor bias = mixed ? given.to(x.dtype()) : given;
  if (x.dim() != 2) {
    Shape out = x.sizes();
    out.back() = weight.size(0);
    const int64_t rows = numel_of(x.sizes().slice(0, x.sizes().size() - 1));
    return reshape_result(linear(x.reshape({rows, x.size(-1)}), weight, bias), out);
  }
  Tensor y = core::empty({x.size(0), weight.size(0)}, x.dtype(), x.device());
  if (bias.defined()) {
    check_operands("linear", x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "linear: bias is ", bias.sizes(), "; accepted: (",
                 weight.size(0), ",)");
  }
  if (!x.is_floating_point()) {
    add_products(x, weight.t(), bias.defined() ? y.copy_(bias) : y.zero_());
    return y;
  }
  multiply(x, core::transpose(weight, 0, 1), bias, y);
  if (!autograd::any_wants_grad({x, weight, bias})) return y;
  const Tensor none;
  const Tensor &x_kept = autograd::wants_grad(weight) ? x : none,
               &weight_kept = autograd::wants_grad(x) ? weight : none;
  return record(
      "linear", y, {x, weight, bias}, {x_kept, weight_kept}, [](const Context& ctx, const Tensor& dy) -> Grads {
        return {ctx.needs_grad(0) ? dy.mm(ctx.saved(1)) : Tensor(),
                ctx.needs_grad(1) ? dy.t().mm(ctx.saved(0)) : Tensor(), ctx.needs_grad(2) ? dy.sum({0}) : Tensor()};
      });
}

}  // namespace tandem
