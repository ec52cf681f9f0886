// Linear maps: linear, bilinear.
#include "tandem/ops/nn/linear.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/products/multiply_matrices.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, linear);

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& given) {
  if (const Autocast cast{cast_policy::linear, x, weight, given}) return linear(cast(x), cast(weight), cast(given));
  TANDEM_CHECK(x.dim() > 0, "linear: both arguments to linear need to be at least 1D, but they are ", x.dim(), "D and ",
               weight.dim(), "D");
  TANDEM_CHECK(weight.dim() == 2, "linear: weight is ", weight.sizes(), "; accepted: (out_features, in_features)");
  TANDEM_CHECK(x.size(-1) == weight.size(1), "linear: mat1 and mat2 shapes cannot be multiplied (",
               numel_of(x.sizes().slice(0, x.sizes().size() - 1)), "x", x.size(-1), " and ", weight.size(1), "x",
               weight.size(0), ")");
  check_product_operands("linear", x, weight);
  const bool mixed = given.defined() && is_reduced_floating_point(x.dtype()) && given.dtype() == kFloat32;
  const Tensor bias = mixed ? given.to(x.dtype()) : given;
  if (x.dim() != 2) {
    Shape out = x.sizes();
    out.back() = weight.size(0);
    const int64_t rows = numel_of(x.sizes().slice(0, x.sizes().size() - 1));
    return reshape_result(linear(x.reshape({rows, x.size(-1)}), weight, bias), out);
  }
  Tensor y = core::empty({x.size(0), weight.size(0)}, x.dtype(), x.device());
  if (bias.defined()) {
    check_product_operands("linear", x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "linear: bias is ", bias.sizes(), "; accepted: (",
                 weight.size(0), ",)");
  }
  if (!x.is_floating_point()) {
    accumulate_outer_products(x, weight.t(), bias.defined() ? y.copy_(bias) : y.zero_());
    return y;
  }
  multiply_matrices(x, core::transpose(weight, 0, 1), bias, y);
  if (!autograd::any_requires_grad({x, weight, bias})) return y;
  const Tensor none;
  const Tensor &x_kept = autograd::tensor_requires_grad(weight) ? x : none,
               &weight_kept = autograd::tensor_requires_grad(x) ? weight : none;
  return record_op(
      "linear", y, {x, weight, bias}, {x_kept, weight_kept}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        return {ctx.needs_grad(0) ? dy.mm(ctx.saved(1)) : Tensor(),
                ctx.needs_grad(1) ? dy.t().mm(ctx.saved(0)) : Tensor(), ctx.needs_grad(2) ? dy.sum({0}) : Tensor()};
      });
}

Tensor nn::functional::bilinear(const Tensor& x1, const Tensor& x2, const Tensor& weight, const Tensor& bias) {
  if (const Autocast cast{CastPolicy::promote, x1, x2, weight, bias})
    return nn::functional::bilinear(cast(x1), cast(x2), cast(weight), cast(bias));
  const auto rest = [](const Tensor& x) { return x.sizes().slice(0, x.sizes().size() - 1); };
  TANDEM_CHECK(weight.dim() == 3, "bilinear: weight is ", weight.sizes(),
               "; accepted: (out_features, in1_features, in2_features)");
  TANDEM_CHECK(x1.dim() > 0 && x1.dim() == x2.dim(), "bilinear: input dimensions do not match: got ", x1.dim(), " and ",
               x2.dim(), "; accepted: the same number, 1 or more");
  TANDEM_CHECK(rest(x1) == rest(x2), "bilinear: input batch dimensions do not match: got ", x1.sizes(), " and ",
               x2.sizes());
  TANDEM_CHECK(x1.size(-1) == weight.size(1), "bilinear: input1 size does not match weight size: got ", x1.size(-1),
               " but expected ", weight.size(1));
  TANDEM_CHECK(x2.size(-1) == weight.size(2), "bilinear: input2 size does not match weight size: got ", x2.size(-1),
               " but expected ", weight.size(2));
  TANDEM_CHECK(!bias.defined() || bias.sizes() == IntArrayRef(weight.size(0)),
               "bilinear: bias size does not match weight size: got ", bias.sizes(), " but expected ", weight.size(0));
  const int64_t outputs = weight.size(0), rows = numel_of(rest(x1));
  // `left` holds, for each row of x1, the matrix whose row o is x1 weight[o]. The next line multiplies it by x2.
  const Tensor left = matmul(x1.reshape({rows, weight.size(1)}), weight.transpose(0, 1).flatten(1));
  const Tensor y = left.view({rows, outputs, weight.size(2)}).bmm(x2.reshape({rows, weight.size(2), 1}));
  Shape sizes = rest(x1);
  sizes.push_back(outputs);
  return (bias.defined() ? y.squeeze(-1) + bias : y.squeeze(-1)).reshape(sizes);
}

}  // namespace tandem
