// masked_select: selects the elements where a mask is true.
#include "tandem/ops/index/masked_select.h"

#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/nonzero.h"

namespace tandem {

TANDEM_CAST_POLICY(none, masked_select);

Tensor Tensor::masked_select(const Tensor& mask) const {
  check_not_recorded("masked_select", "the mask's values tell how many elements there are");
  TANDEM_CHECK(mask.dtype() == kBool && mask.device() == device(), "masked_select: mask is ", mask.dtype(), " on ",
               mask.device(), "; accepted: bool on ", device());
  const Shape sizes = broadcast_shapes("masked_select", this->sizes(), mask.sizes());
  const Tensor places = tandem::nonzero(mask.expand(sizes).reshape({-1}));
  return select_rows("masked_select", expand(sizes).reshape({-1}), 0, places.reshape({-1}));
}

}  // namespace tandem
