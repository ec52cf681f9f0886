// Scattering into an existing tensor (scatter_into), and in-place versions of operations by index (write_inplace).
// Internal.
#pragma once
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// Narrows x to index's sizes in all dimensions but dim: the part that gather and scatter can access.
Tensor narrow_to_index(Tensor x, int64_t dim, const Tensor& index);
/// Scatters source into `out`, which must be contiguous.
void scatter_into(const char* op, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, bool add);
/// In-place version: copies write(x) into x. If autograd records, `write` receives a copy of x, because it may save its
/// argument.
template <class Write>
Tensor& write_inplace(const char* op, Tensor& x, autograd::TensorRefs others, const Write& write) {
  return autograd::run_inplace(
      op, x, others, [&] { copy_elements(write(x.detach()), x); },
      [&](const Tensor& old) { return write(old.clone()); });
}

}  // namespace tandem::detail
