// Copies: clone.
#include "tandem/ops/shape/clone.h"

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, clone);

Tensor clone(const Tensor& x, std::optional<MemoryFormat> format) {
  Tensor y = core::empty_like(x, x.dtype(), x.device(), format.value_or(MemoryFormat::Preserve));
  copy_elements(x, y);
  return record_op("clone", y, {x}, {}, [](const BackwardContext&, const Tensor& dy) -> Grads { return {dy}; });
}
Tensor Tensor::clone(std::optional<MemoryFormat> format) const {
  return tandem::clone(*this, format.value_or(MemoryFormat::Preserve));
}

}  // namespace tandem
