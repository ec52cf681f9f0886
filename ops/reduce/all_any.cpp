// Logical reductions: all and any, over all elements or some dimensions.
#include "tandem/ops/reduce/all_any.h"

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

TANDEM_CAST_POLICY(none, all, any);

namespace {
Tensor reduce_all_any(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, bool want_all) {
  const ReducedDims r(op, x.dtype() == kBool ? x : x != 0, dims);
  Tensor flat = r.allocate_output(kBool);
  if (want_all)
    TANDEM_DISPATCH(x.device(), all, r.x, flat);
  else
    TANDEM_DISPATCH(x.device(), any, r.x, flat);
  // If x is uint8, the result is uint8, because uint8 was the dtype of masks in early versions of PyTorch.
  return r.restore_result_shape(x.dtype() == kUInt8 ? flat.to(kUInt8) : flat, keepdim);
}
/// Returns all() or any() for an empty list of dimensions: as in PyTorch, no dimension is reduced.
Tensor to_bools(const Tensor& x) { return (x != 0).to(x.dtype() == kUInt8 ? kUInt8 : kBool); }
}  // namespace
Tensor Tensor::all() const { return reduce_all_any("all", *this, {}, false, true); }
Tensor Tensor::all(int64_t dim, Flag keepdim) const { return reduce_all_any("all", *this, {dim}, keepdim, true); }
Tensor Tensor::all(IntArrayRef dims, Flag keepdim) const {
  return dims.empty() ? to_bools(*this) : reduce_all_any("all", *this, dims, keepdim, true);
}
Tensor Tensor::any(IntArrayRef dims, Flag keepdim) const {
  return dims.empty() ? to_bools(*this) : reduce_all_any("any", *this, dims, keepdim, false);
}
Tensor Tensor::any() const { return reduce_all_any("any", *this, {}, false, false); }
Tensor Tensor::any(int64_t dim, Flag keepdim) const { return reduce_all_any("any", *this, {dim}, keepdim, false); }

}  // namespace tandem
