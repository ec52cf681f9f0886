// In-place versions of operations that are composed of other operations. Internal.
#pragma once
#include "tandem/autograd/inplace.h"
#include "tandem/autograd/ops.h"
#include "tandem/ops/promote_operands.h"

namespace tandem::detail {

/// Writes compute(x) back into x and returns x. The result must have x's sizes and a dtype that x can hold. `others`
/// are the other tensors, defined or not, that compute() reads.
template <class Compute>
Tensor& compute_inplace(const char* op, Tensor& x, autograd::TensorRefs others, Compute compute) {
  const auto checked = [&](const Tensor& y) {
    TANDEM_CHECK(y.sizes() == x.sizes(), op, ": output with shape ", x.sizes(), " doesn't match the broadcast shape ",
                 y.sizes());
    TANDEM_CHECK(dtype_category(y.dtype()) <= dtype_category(x.dtype()), op, ": result type ", y.dtype(),
                 " can't be cast to the desired output type ", x.dtype());
    return y.to(x.dtype());
  };
  const auto direct = [&] {
    const NoGradGuard guard;
    copy_elements(checked(compute(x)), x);
  };
  return autograd::run_inplace(op, x, others, direct, [&](const Tensor& old) { return checked(compute(old.clone())); });
}

}  // namespace tandem::detail
