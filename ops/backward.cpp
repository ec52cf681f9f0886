// Implements attach_inputs_to_backward, which connects the gradient of a composed operation to the graph of all its
// inputs.
#include "tandem/ops/backward.h"

#include "tandem/autograd/record.h"

namespace tandem {
Tensor attach_inputs_to_backward(const Tensor& x, const Tensor& other, const Tensor& another) {
  if (!autograd::any_requires_grad({x})) return x;
  return record_op(
      "alias", core::alias(x), {x, other, another}, {}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        return {ctx.attach_zero_derivative(2, ctx.attach_zero_derivative(1, ctx.attach_zero_derivative(0, dy)))};
      });
}

}  // namespace tandem
