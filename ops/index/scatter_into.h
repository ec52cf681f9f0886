// Scattering into an existing tensor (scatter_into), and in-place versions of operations by index (write_in_place).
// Internal.
#pragma once
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// x cut to index's sizes, except along dim: what gather and scatter can reach.
Tensor reachable(Tensor x, int64_t dim, const Tensor& index);
/// Writes into `out` itself, which is contiguous.
void scatter_into(const char* op, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, bool add);
/// In place what `write` gives of a tensor. It is given a copy where history is kept: it may save what it is given.
template <class Write>
Tensor& write_in_place(const char* op, Tensor& x, autograd::TensorRefs others, const Write& write) {
  return autograd::inplace(
      op, x, others, [&] { copy_elements(write(x.detach()), x); },
      [&](const Tensor& old) { return write(old.clone()); });
}

}  // namespace tandem::detail
