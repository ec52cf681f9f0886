// In-place operations. If no gradient is needed, they write into the tensor directly. Otherwise the result is computed
// out of place and then assigned, so that one rule (assign_inplace) creates the history of every in-place operation.
#pragma once
#include "tandem/autograd/record.h"
#include "tandem/core/autocast.h"

namespace tandem::autograd {

/// Checks that x may be written to. @throws Error if x has a stride of 0 in a dimension of size 2 or more, as expanded
/// tensors have, so that elements share memory. Other overlaps are not detected
void check_no_internal_overlap(const char* op, const Tensor& x);
/// Checks that x may be changed in place in grad mode. @throws Error if x is a leaf that requires a gradient, a view of
/// such a leaf, a part made by split(), chunk() or unbind(), or a view that was made outside of grad mode or in a
/// custom Function
void check_inplace(const char* op, const Tensor& x);
/// Whether an in-place operation uses the old elements or replaces them.
enum class InplaceAccess { read_write, overwrite };
/// Assigns y's elements and autograd history to x: x becomes an output of the operation that made y. If x is a view,
/// the history of its base changes. y must have x's shape, dtype and device. If the operation used the old value of x,
/// backward computes the gradient of that value through y; if the operation replaced it, that gradient is zero.
void assign_inplace(const char* op, Tensor& x, const Tensor& y, InplaceAccess access);

/// Runs an in-place operation. If no gradient is needed, calls direct(), which writes into x. Otherwise calls op(x),
/// which computes the result out of place and is recorded by autograd. Because x is overwritten afterwards, an op that
/// saves its input must be given a copy. Autocast does not act on in-place
/// operations: they compute in the dtype of x.
template <class Direct, class Op>
Tensor& run_inplace(const char* name, Tensor& x, TensorRefs others, Direct&& direct, Op&& op,
                    InplaceAccess access = InplaceAccess::read_write) {
  const AutocastOffGuard guard;
  check_inplace_allowed(name, x);
  if (!x.is_contiguous()) check_no_internal_overlap(name, x);
  const bool real = x.is_floating_point();  // whether x can have a gradient: integer tensors have none
  if (is_grad_enabled() && real && (tensor_requires_grad(x) || any_requires_grad(others))) {
    check_inplace(name, x);
    assign_inplace(name, x, op(x), access);
  } else {
    direct();
    x.bump_version();
  }
  return x;
}

}  // namespace tandem::autograd
