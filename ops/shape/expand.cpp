// Broadcasting views: expand, broadcast_tensors.
#include "tandem/ops/shape/expand.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, broadcast_tensors, expand);

Tensor Tensor::expand(IntArrayRef wanted, Flag /*implicit*/) const {
  return record_view("expand", core::expand(*this, wanted), *this,
                     [sizes = Shape(sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
                       return {tandem::sum_to_size(dy, sizes)};
                     });
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Shape sizes;
  for (const Tensor& x : tensors) sizes = broadcast_shapes("broadcast_tensors", sizes, x.sizes());
  std::vector<Tensor> out;
  for (const Tensor& x : tensors) out.push_back(x.expand(sizes));
  return out;
}

}  // namespace tandem
