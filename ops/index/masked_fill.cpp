// Filling where a mask is true: masked_fill, masked_fill_.
#include "tandem/ops/index/masked_fill.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/elementwise/where_kernel.h"

namespace tandem {

TANDEM_CAST_POLICY(none, masked_fill);

Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_fill only supports boolean masks, but got mask with dtype ",
               mask.dtype());
  check_representable("masked_fill", dtype(), value);
  return launch_where("masked_fill", mask, wrapped_scalar_tensor(device(), value, dtype()), *this,
                      /*row_major=*/true);  // row-major, because PyTorch's result and gradient are contiguous
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  TANDEM_CHECK(value.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
               value.dim(), " dimension(s)");
  const Tensor held = move_scalar_to_device(value, device()).to(dtype());
  return launch_where("masked_fill", mask, held, *this, /*row_major=*/!autograd::tensor_requires_grad(held));
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_fill_ only supports boolean masks, but got mask with dtype ",
               mask.dtype());
  TANDEM_CHECK(broadcast_shapes("masked_fill_", sizes(), mask.sizes()) == sizes(), "masked_fill_: output with shape ",
               sizes(), " doesn't match the broadcast shape ", broadcast_shapes("masked_fill_", sizes(), mask.sizes()),
               " with mask ", mask.sizes());
  detail::check_representable("masked_fill_", dtype(), value);
  return autograd::run_inplace(
      "masked_fill_", self(), {}, [&] { copy_elements(detach().masked_fill(mask, value), self()); },
      [&](const Tensor& old) { return old.masked_fill(mask, value); });
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  return compute_inplace("masked_fill_", self(), {value}, [&](const Tensor& x) { return x.masked_fill(mask, value); });
}

}  // namespace tandem
