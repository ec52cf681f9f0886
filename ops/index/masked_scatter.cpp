// masked_scatter and masked_scatter_: write the elements of a source, in order, to the positions where a mask is true.
#include "tandem/ops/index/masked_scatter.h"

#include "tandem/ops/argument.h"
#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/index_select.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, masked_scatter);

Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  check_same_dtype_and_device("masked_scatter", "x", *this, "source", source);
  TANDEM_CHECK(mask.dtype() == kBool, "masked_scatter only supports boolean masks, but got mask with dtype ",
               mask.dtype());
  TANDEM_CHECK(mask.device() == device(),
               "masked_scatter: expected self and mask to be on the same device, but got mask on ", mask.device(),
               " and self on ", device());
  const Shape sizes = broadcast_shapes("masked_scatter", this->sizes(), mask.sizes());
  const Tensor hit = mask.expand(sizes).reshape({-1}), x = expand(sizes);
  if (hit.numel() == 0 || source.numel() == 0) {
    TANDEM_CHECK(hit.numel() == 0 || !hit.any().item<bool>(),
                 "masked_scatter: Number of elements of source < number of ones in mask: source has none");
    return record_op(
        "masked_scatter", x.detach().clone(hit.numel() == 0 ? MemoryFormat::Preserve : MemoryFormat::Contiguous),
        {x, source}, {}, [sizes = Shape(source.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
          return {dy, ctx.needs_grad(1) ? zeros(sizes, dy.options()) : Tensor()};
        });
  }
  // The k-th true position takes element k of source. The kernel reports an error if k is out of range.
  const Tensor positions = (hit.to(kInt64).cumsum(0) - 1).masked_fill(hit.logical_not(), 0);
  const Tensor from = select_rows("masked_scatter", source.reshape({-1}), 0, positions).reshape(sizes);
  // hit.reshape(sizes) is contiguous, and so is the result, for any strides of the mask
  return tandem::where(hit.reshape(sizes), from, x);
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  TANDEM_CHECK(broadcast_shapes("masked_scatter_", sizes(), mask.sizes()) == sizes(),
               "masked_scatter_: output with shape ", sizes(), " doesn't match the broadcast shape ",
               broadcast_shapes("masked_scatter_", sizes(), mask.sizes()), " with mask ", mask.sizes());
  return write_inplace("masked_scatter_", self(), {source},
                       [&](const Tensor& x) { return x.masked_scatter(mask, source); });
}

}  // namespace tandem
