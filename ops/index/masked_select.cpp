// masked_select: selects the elements where a mask is true.
#include "tandem/ops/index/masked_select.h"

#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/nonzero.h"

namespace tandem {

TANDEM_CAST_POLICY(none, masked_select);

Tensor Tensor::masked_select(const Tensor& mask) const {
  check_not_recorded("masked_select", "the number of elements depends on the values of the mask");
  TANDEM_CHECK(mask.dtype() == kBool, "masked_select: expected BoolTensor for mask, got ", mask.dtype());
  TANDEM_CHECK(mask.device() == device(),
               "masked_select: expected self and mask to be on the same device, but got mask on ", mask.device(),
               " and self on ", device());
  const Shape sizes = broadcast_shapes("masked_select", this->sizes(), mask.sizes());
  const Tensor positions = tandem::nonzero(mask.expand(sizes).reshape({-1}));
  return select_rows("masked_select", expand(sizes).reshape({-1}), 0, positions.reshape({-1}));
}

}  // namespace tandem
